"""Rounding weights shifts the mean of what they give; biases take the shift back.

With dW the rounding error of the weights of a Conv or Gemm and m the mean of its input per channel, over all samples:

    E[(W + dW) x] - E[W x] = dW m,      b' = b - dW m

Borders, where padding lowers the mean, are counted as the inside is. No step of any tensor changes but the bias's own.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

from ..data_readers import adapt_feed
from ..graph import attribute
from ..numerics.quantize import along, dequantize, quantize
from ..onnx_io.sessions import open_session
from ..plan.error_curve import ErrorCurve
from ..planning.tensor_parameters import sketch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import onnxruntime as ort
    from numpy.typing import NDArray

    from ..plan import Plan, TensorPlan
    from ..request.settings import Run

    Register = Callable[[ort.SessionOptions], object]

OPERATORS = ("Conv", "Gemm")


def correct_biases(run: Run, plan: Plan, libraries: Iterable[Register]) -> int:
    """Correct every bias of the plan that belongs to one Conv or Gemm with constant weights; returns how many."""
    nodes = [node for node in plan.graph.of_type(*OPERATORS) if _is_correctable(plan, node)]
    if not nodes:
        return 0
    means = _means(run, plan.graph.write_back(), list(dict.fromkeys(node.input[0] for node in nodes)), libraries)
    for node in nodes:
        if node.input[0] in means:
            _correct(run, plan, node, means[node.input[0]])
    return sum(node.input[0] in means for node in nodes)


def _is_correctable(plan: Plan, node: NodeProto) -> bool:
    if len(node.input) < 3 or node.input[1] not in plan or node.input[2] not in plan:
        return False
    w, b = plan.graph.array(node.input[1]), plan.graph.array(node.input[2])
    if w is None or b is None or plan.graph.sole_consumer(node.input[2]) is not node:
        return False
    outputs = w.shape[0] if node.op_type == "Conv" or attribute(node, "transB", 0) else w.shape[-1]
    plain = not attribute(node, "transA", 0) and attribute(node, "alpha", 1.0) == attribute(node, "beta", 1.0) == 1.0
    return bool(plain and b.size == outputs and plan.tensors[node.input[1]].kind.is_integer)


def _correct(run: Run, plan: Plan, node: NodeProto, mean: NDArray[np.float64]) -> None:
    w, b = plan.tensors[node.input[1]], plan.tensors[node.input[2]]
    old = plan.graph.array(b.name)
    assert old is not None
    error = _rows(node, _rounding_error(plan, w))
    groups, _, inputs = error.shape
    shift = (error @ mean.reshape(groups, inputs, 1)).reshape(old.shape)
    new = (old - shift).astype(old.dtype)
    plan.graph.put_initializer(numpy_helper.from_array(new, b.name))
    if isinstance(b.curve, ErrorCurve):
        b.curve = ErrorCurve(sketch_of(new), b.kind, b.curve.limits, b.curve.symmetric, new)
        b.move(run.method.choose(b.curve, b.name, None))


def _rounding_error(plan: Plan, w: TensorPlan) -> NDArray[np.float64]:
    array = plan.graph.array(w.name)
    assert array is not None
    owner = plan.of(w.name) or w
    scale, zero = (along(part, array.ndim, owner.axis) for part in (owner.scale, owner.zero_point))
    rounded = dequantize(quantize(array, scale, zero, owner.kind.limits()), scale, zero)
    return np.asarray(rounded.astype(np.float64) - array)


def _rows(node: NodeProto, error: NDArray[np.float64]) -> NDArray[np.float64]:
    """[group, output, input], summed over the kernel."""
    if node.op_type == "Gemm":
        return (error if attribute(node, "transB", 0) else error.T)[None]
    groups = int(attribute(node, "group", 1))
    rows: NDArray[np.float64] = error.reshape(groups, error.shape[0] // groups, error.shape[1], -1).sum(axis=3)
    return rows


def _means(
    run: Run, model: ModelProto, tensors: list[str], libraries: Iterable[Register]
) -> dict[str, NDArray[np.float64]]:
    """Mean per channel (axis 1) of each tensor over all samples; over the remembered ones where the reader is spent."""
    inputs = {value.name for value in model.graph.input}
    known = {value.name for value in model.graph.output}
    fetched = [tensor for tensor in tensors if tensor not in inputs]
    watched = ModelProto()
    watched.CopyFrom(model)
    watched.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in fetched if name not in known)
    session = open_session(watched, libraries)
    totals: dict[str, NDArray[np.float64]] = {}
    count = 0
    for feed in run.samples if run.samples.rewind() else run.samples.remembered:
        feed = adapt_feed(model, feed)
        values: dict[str, Any] = dict(zip(fetched, session.run(fetched, feed) if fetched else (), strict=True))
        count += 1
        for tensor in tensors:
            value = np.asarray(values.get(tensor, feed.get(tensor)), dtype=np.float64)
            if value.ndim >= 2 and value.size and np.isfinite(value).all():
                mean = value.mean(axis=(0, *range(2, value.ndim)))
                totals[tensor] = totals.get(tensor, 0.0) + mean
    return {tensor: total / count for tensor, total in totals.items()}
