"""Once a plan is final, every tensor of it can say where its parameters came from."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.renames import TENSOR
from ..numerics.qtypes import Scaling
from ..plan import Role
from ..plan.error_curve import ErrorCurve
from ..plan.fake_quantize import fake_quantize
from ..plan.int32_bias import by_channel
from ..planning.tensor_parameters import PARAMETERS
from ..report.tensor_story import TensorStory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..plan import Move, Plan, TensorPlan
    from ..plan.marks import Marks
    from ..request.call import Call
    from ..sketch import Sketch

UNSEEN = "never computed in calibration"


def tell_tensors(call: Call, plan: Plan, marks: Marks) -> None:
    """Write the stories of a plan's tensors, and of those that have no pair, into the report, before it is emitted."""
    moves = {move.tensor: move for move in call.report.moves}
    stories = call.report.tensors
    for planned in plan:
        stories[planned.name] = _story(call, plan, marks, planned, moves)
    for name, mark in marks.tensors.items():
        if name not in plan:
            changes = plan.changes.get(name, [])
            reasons = [call.report.not_data.get(name), call.ledger.float_tensors.get(name), *changes]
            why = next((reason for reason in reasons if reason is not None), UNSEEN)
            stories[name] = TensorStory(name, mark.role.value, dropped=why)
    for kind, (old, now) in call.ledger.renames:
        if kind == TENSOR and now and now[0] in stories:
            stories.setdefault(old, stories[now[0]])


def _story(call: Call, plan: Plan, marks: Marks, planned: TensorPlan, moves: dict[str, Move]) -> TensorStory:
    leader = plan.leader(planned.name)
    owner = plan.tensors[leader]
    scale = _bias_scale(plan, planned) if planned.derived is not None else owner.scale
    has_parameters = planned.kind.scaling is not Scaling.NONE
    move = moves.get(leader)
    return TensorStory(
        planned.name,
        planned.role.value,
        origin=_origin(call, plan, marks, planned),
        type=str(planned.kind),
        scale=tuple(np.asarray(scale, np.float64).ravel().tolist()) if has_parameters else (),
        zero_point=tuple(owner.zero_point.ravel().tolist()) if planned.kind.is_integer else (),
        axis=owner.axis if np.ndim(owner.scale) else None,
        position=owner.position if planned.derived is None else None,
        shares=leader if leader != planned.name else "",
        moved_from=None if move is None else move.before,
        moved_by=() if move is None else move.rules,
        changes=tuple(plan.changes.get(planned.name, ())),
        error=_error(call, plan, planned, owner),
    )


def _origin(call: Call, plan: Plan, marks: Marks, planned: TensorPlan) -> str:
    """What gave the parameters, before anything moved them."""
    if planned.kind.scaling in (Scaling.NONE, Scaling.UNIT):
        return f"the type: {planned.kind.scaling.value}"
    if planned.derived is not None:
        beta = f" * {planned.derived.beta:g}" if planned.derived.beta != 1.0 else ""
        return (
            f"the scale of {planned.derived.x} * that of {planned.derived.w}{beta}, as {planned.derived.node} adds it"
        )
    override = next(iter(marks.overrides.get(planned.name, ())), {})
    stated = [key for key in ("scale", "zero_point", "rmin", "rmax") if key in override and key in PARAMETERS]
    if stated:
        return f"TensorQuantOverrides: {', '.join(stated)}"
    producer = plan.graph.producer(planned.name)
    producer = producer and plan.graph.simulated_node.get(producer.name, producer)
    if planned.role is Role.ACTIVATION and producer is not None and producer.op_type == "Softmax" and planned.fixed:
        return "the range of Softmax, [0, 1]"
    source = plan.range_source.get(planned.name)
    seen = f", over the values of {source}, whose range it takes" if source is not None else ""
    return f"method {call.method.key}{seen}"


def _bias_scale(plan: Plan, planned: TensorPlan) -> NDArray[np.float64]:
    assert planned.derived is not None
    scale = plan.product_scale(planned.derived)
    return np.asarray(planned.scale, np.float64) if scale is None else scale


def _error(call: Call, plan: Plan, planned: TensorPlan, owner: TensorPlan) -> float | None:
    """Squared error over energy; without ``ExplainTensors`` only where it is known already."""
    position = owner.position
    if isinstance(planned.curve, ErrorCurve) and position is not None and planned.derived is None:
        known = planned.curve.known_error(position)
        return planned.curve.error(position) if known is None and call.call.explain_tensors else known
    if not call.call.explain_tensors or planned.kind.scaling is Scaling.NONE:
        return None
    array = plan.graph.array(planned.name) if plan.graph.is_constant(planned.name) else None
    if array is not None:
        codes = _bias_values(plan, planned, array) if planned.derived is not None else fake_quantize(array, owner)
        return _ratio(
            float(np.sum((array.astype(np.float64) - codes) ** 2)), float(np.sum(array.astype(np.float64) ** 2))
        )
    statistics = call.statistics
    sketch = None if statistics is None else statistics.get(plan.range_source.get(planned.name, planned.name))
    return None if sketch is None else _binned(sketch, owner)


def _bias_values(plan: Plan, planned: TensorPlan, array: NDArray[Any]) -> NDArray[np.float64]:
    scale = _bias_scale(plan, planned)
    rows = by_channel(array, scale.size) if scale.ndim else array
    values = np.clip(np.rint(rows / scale), planned.kind.min, planned.kind.max) * scale
    return np.asarray(values, np.float64).reshape(array.shape) if values.size == array.size else values[0]


def _binned(sketch: Sketch, owner: TensorPlan) -> float | None:
    if owner.kind.is_integer:
        if owner.scale.ndim:
            return None
        noise = sketch.error_of_step(float(owner.scale), owner.kind.min, owner.kind.max, int(owner.zero_point))
    else:
        view = sketch.view
        codes = fake_quantize(view.mean, owner).astype(np.float64)
        noise = float((view.n * (view.mean - codes) ** 2).sum())
    return _ratio(noise, sketch.sum_squares)


def _ratio(noise: float, energy: float) -> float:
    return noise / energy if energy > 0 else 0.0
