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

from ort_vitis_plugin.api import (
    Correction,
    ErrorCurve,
    Option,
    Role,
    Sketch,
    TensorFacts,
    attribute,
    dequantize,
    quantize,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ort_vitis_plugin.api import Context, Feed, Graph, Plan, TensorPlan

OPERATORS = ("Conv", "Gemm")


def _is_correctable(plan: Plan, node: NodeProto) -> bool:
    if len(node.input) < 3 or node.input[1] not in plan or node.input[2] not in plan:
        return False
    w, b = plan.graph.array(node.input[1]), plan.graph.array(node.input[2])
    if w is None or b is None or plan.graph.sole_consumer(node.input[2]) is not node:
        return False
    outputs = w.shape[0] if node.op_type == "Conv" or attribute(node, "transB", 0) else w.shape[-1]
    plain = not attribute(node, "transA", 0) and attribute(node, "alpha", 1.0) == attribute(node, "beta", 1.0) == 1.0
    return bool(plain and b.size == outputs and plan.tensors[node.input[1]].kind.is_integer)


def _correct(context: Context, plan: Plan, node: NodeProto, mean: NDArray[np.float64]) -> None:
    w, b = plan.tensors[node.input[1]], plan.tensors[node.input[2]]
    old = plan.graph.array(b.name)
    assert old is not None
    error = _rows(node, _rounding_error(plan, w))
    groups, _, inputs = error.shape
    shift = (error @ mean.reshape(groups, inputs, 1)).reshape(old.shape)
    new = (old - shift).astype(old.dtype)
    plan.graph.put_initializer(numpy_helper.from_array(new, b.name))
    if isinstance(b.curve, ErrorCurve):
        sketch = Sketch()
        sketch.add(new)
        b.curve = ErrorCurve(sketch, b.kind, b.curve.limits, b.curve.symmetric, new)
        b.move(context.method.position_of(b.curve, TensorFacts(b.name, Role.BIAS, context, values=new)))


def _rounding_error(plan: Plan, w: TensorPlan) -> NDArray[np.float64]:
    array = plan.graph.array(w.name)
    assert array is not None
    owner = plan.of(w.name) or w
    scale, zero = owner.spread(array.shape)
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
    context: Context, model: ModelProto, tensors: list[str], samples: Iterable[Feed]
) -> dict[str, NDArray[np.float64]]:
    """Mean per channel (axis 1) of each tensor over the samples; tensors that take other values than finite lack."""
    inputs = {value.name for value in model.graph.input}
    known = {value.name for value in model.graph.output}
    fetched = [tensor for tensor in tensors if tensor not in inputs]
    watched = ModelProto()
    watched.CopyFrom(model)
    watched.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in fetched if name not in known)
    session = context.open_session(watched)
    totals: dict[str, NDArray[np.float64]] = {}
    count = 0
    for feed in samples:
        values: dict[str, Any] = dict(zip(fetched, session.run(fetched, feed) if fetched else (), strict=True))
        count += 1
        for tensor in tensors:
            value = np.asarray(values.get(tensor, feed.get(tensor)), dtype=np.float64)
            if value.ndim >= 2 and value.size and np.isfinite(value).all():
                mean = value.mean(axis=(0, *range(2, value.ndim)))
                totals[tensor] = totals.get(tensor, 0.0) + mean
    return {tensor: total / count for tensor, total in totals.items()}


def correct_biases(plan: Plan, float_graph: Graph, samples: Iterable[Feed], context: Context) -> int:
    """Correct every bias of the plan that belongs to one Conv or Gemm with constant weights; returns how many.

    The means are those of the graph that the device computes, which ``plan`` holds until it is written.
    """
    nodes = [node for node in plan.graph.of_type(*OPERATORS) if _is_correctable(plan, node)]
    if not nodes:
        return 0
    means = _means(context, plan.graph.write_back(), list(dict.fromkeys(node.input[0] for node in nodes)), samples)
    for node in nodes:
        if node.input[0] in means:
            _correct(context, plan, node, means[node.input[0]])
    return sum(node.input[0] in means for node in nodes)


_DOC = "Let biases take back the shift of the mean that rounding weights causes (runs the samples once more)."
BIAS_CORRECTION = Correction("BiasCorrection", _DOC, Option("BiasCorrection", bool, False, _DOC), correct_biases)
