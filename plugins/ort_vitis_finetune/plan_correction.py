"""What is found on the written network goes back into its plan: constants of its graph, and curves of their errors."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import Role, change_constant, ruled, written

from .candidates import ONLY_BIAS
from .finetune import finetune
from .grid import CODES_OF_EIGHT_BITS
from .simulation import simulation_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from onnx import ModelProto

    from ort_vitis_plugin.api import Bound, Context, Feed, Graph, Judged, NetworkError, Plan, TensorPlan, WeightRounding

    from .finetuned import Finetuned, LayerResult
    from .settings import FinetuneSettings
    from .walk import Session

CODES = "_quantized"
# Positions finer and coarser than a weight's own, tried for weights of fewer codes than those of 8 bits: there the zoo
# gains nothing, and the search takes half as long again (tests/zoo/README.md).
TRIED = (1, -1)


class RecipeJudge:
    """The samples that judged the recipe."""

    def __init__(self, known: Judged) -> None:
        self._judge, self.before = known.judge, known.error

    def error_of(self, model: ModelProto) -> NetworkError:
        """How far a network is from float."""
        return self._judge.error_of(model, may_have_twin=False)  # its weights are no codes


def finetuned_plan(
    plan: Plan,
    float_graph: Graph,
    feeds: list[Feed],
    context: Context,
    settings: FinetuneSettings,
    *,
    rounding: WeightRounding | None = None,
    on_layer: Callable[[LayerResult, int, int], object] | None = None,
    result_path: str | Path | None = None,
    known: Judged | None = None,
) -> Finetuned:
    """Change the plan's weights and biases such that layers, and the network, come nearer to the float network.

    ``known`` says what samples that are not among the feeds say of the plan; they judge, where it is given.
    """
    if settings.weight_bits:
        _narrow(plan, settings.weight_bits, context)
    integers = [tensor for tensor in plan if tensor.kind.is_integer]
    limits = {
        name: _limits(each, plan, settings.weight_bits) for each in integers for name in (each.name, each.name + CODES)
    }
    simulation = simulation_of(
        written(plan, context) if known is None else known.model, limits, context.format.writer.constant_grid
    )
    few = {name for name, (low, high) in limits.items() if high - low + 1 < CODES_OF_EIGHT_BITS}
    steps, simulation.moves = _moves(plan, context, few) if settings.candidates != ONLY_BIAS and few else ({}, {})

    def opened(model: ModelProto) -> Session:
        session: Session = context.open_session(model, as_written=True)
        return session

    def opened_fast(model: ModelProto) -> Session:
        session: Session = context.open_session(model, fast=True)
        return session

    judge = None if known is None else RecipeJudge(known)
    found = finetune(
        *(float_graph.to_model(), simulation, feeds, opened, settings),
        rounding=rounding,
        on_layer=on_layer,
        result_path=result_path,
        judge=judge,
        open_float=opened_fast,
    )
    for name, values in (*found.weights.items(), *found.biases.items()):
        if name in plan.graph.initializers:
            if name in found.moved:
                plan.tensors[name].move(steps[name] + found.moved[name])
            change_constant(plan, name, values, context)
    return found


def _moves(plan: Plan, context: Context, names: set[str]) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
    """Where the rules leave positions, and by how much each weight of these names may move alone within the rules."""
    within, bounds = ruled(plan, context)
    positions = within.current()
    concerned: dict[str, list[Bound]] = {}
    for bound in bounds:
        for name in bound.variables:
            concerned.setdefault(name, []).append(bound)
    shared = set(within.provider.values())
    weights = [each for each in within if each.role is Role.WEIGHT and not each.fixed and each.name in positions]
    moves = {}
    for name in [each.name for each in weights if each.name in names - shared]:
        trials = {step: {**positions, name: positions[name] + step} for step in TRIED}
        moves[name] = tuple(
            step
            for step, trial in trials.items()
            if all(abs(bound.excess(trial)) <= abs(bound.excess(positions)) for bound in concerned.get(name, ()))
        )
    return positions, moves


def _limits(tensor: TensorPlan, plan: Plan, bits: int) -> tuple[int, int]:
    """The least and the largest code of a tensor; weights of two dimensions or more keep to so many bits."""
    low, high = tensor.kind.limits()
    values = plan.graph.array(tensor.name) if bits and tensor.role is Role.WEIGHT else None
    if values is None or values.ndim < 2:
        return low, high
    middle = tensor.kind.symmetric_zero_point()
    return max(low, middle - (1 << bits - 1)), min(high, middle + (1 << bits - 1) - 1)


def _narrow(plan: Plan, bits: int, context: Context) -> None:
    """Bring weights within the codes that they keep to."""
    for tensor in list(plan):
        values = plan.graph.array(tensor.name)
        limits = _limits(tensor, plan, bits)
        if values is None or not tensor.kind.is_integer or limits == tensor.kind.limits():
            continue
        scale, zero = tensor.spread(values.shape)
        low, high = ((limit - zero) * scale for limit in limits)
        change_constant(plan, tensor.name, np.clip(values, low, high), context)
