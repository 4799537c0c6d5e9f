"""Networks around which onnxruntime's users do what the tests of situations do, and how two results agree."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import onnxruntime as ort
import pytest
from onnx import ModelProto
from onnxruntime.quantization import QuantType

from tests.kinds.checks import model, nodes, weights

from .both import compared, ours, theirs

RECENT = tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 32)
recent = pytest.mark.skipif(not RECENT, reason="younger than the oldest onnxruntime that is supported")

U16 = {"quant_type": QuantType.QUInt16}
FANS_OUT = "t (float[4, 8] x) => (float[4, 8] y, float[4, 8] z) { h = Add(x, v) y = MatMul(h, m) z = Mul(h, m2) }"


def network(opset: int = 18, scale: float = 1.0) -> ModelProto:
    """Convolutions, a pool, products; every node has its type's name and a number."""
    proto = model(
        """t (float[1, 4, 8, 8] x) => (float[1, 8] y)
        { c = Conv<pads = [1, 1, 1, 1]>(x, w, b) r = Relu(c) d = Conv(r, w, b) p = GlobalAveragePool(d)
          f = Flatten(p) g = Gemm(f, k, e) y = MatMul(g, m) }""",
        {
            "w": weights(1, 4, 4, 3, 3, scale=0.3 * scale),
            "b": weights(2, 4, scale=0.2),
            "k": weights(3, 4, 8),
            "e": weights(4, 8, scale=0.2),
            "m": weights(5, 8, 8),
        },
        opset,
    )
    for at, node in enumerate(proto.graph.node):
        node.name = f"{node.op_type}_{at}"
    return proto


def fan() -> ModelProto:
    proto = model(FANS_OUT, {"v": weights(1, 8), "m": weights(2, 8, 8), "m2": weights(3, 8)})
    for node in proto.graph.node:
        node.name = node.op_type
    return proto


def branches() -> ModelProto:
    """An If whose bodies compute, and read a weight of the graph around them."""
    return model(
        """t (float[4, 8] x, bool c) => (float[4, 8] y)
        { h = MatMul(x, m)
          z = If(c) <then_branch = a () => (float[4, 8] o) { o = MatMul(h, m) },
                     else_branch = b () => (float[4, 8] p) { p = Add(h, h) }>
          y = MatMul(z, m) }""",
        {"m": weights(1, 8, 8)},
    )


def agree(proto: ModelProto, feeds: Any = None, **arguments: Any) -> ModelProto:
    """Ours, which has theirs' operators, opset and parameters and is as near to float."""
    left, right = theirs(proto, feeds, **arguments), ours(proto, feeds, **arguments)
    found = compared(proto, left, right)
    assert (found.op_types, found.parameters) == ("", [])
    assert found.is_as_near, found.decibels
    assert right.opset_import[0].version == left.opset_import[0].version
    return right


def domains(proto: ModelProto) -> set[str]:
    return {node.domain for node in nodes(proto, "QuantizeLinear", "DequantizeLinear")}
