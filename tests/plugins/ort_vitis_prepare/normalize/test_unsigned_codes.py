"""Signed bytes that products read become unsigned ones where kernels would saturate; nothing else changes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import plain_context, random_feeds, run_model
from ort_vitis_prepare.normalize.unsigned_codes import unsigned_codes

CPU = {"reduce_range": True, "Target": "cpu"}


def stored(kind: int = TensorProto.INT8, largest: int = 127) -> Graph:
    """x times codes [4, 2] of a type, with a scale and a zero point for all of them."""
    codes = helper.make_tensor("c", kind, [4, 2], [largest, 0, 1, 2, 3, 4, 5, -6 if kind != TensorProto.UINT8 else 6])
    nodes = [
        helper.make_node("DequantizeLinear", ["c", "s", "z"], ["w"], "dequantize"),
        helper.make_node("MatMul", ["x", "w"], ["y"], "product"),
    ]
    value = helper.make_tensor_value_info
    one = helper.make_graph(
        nodes,
        "one",
        [value("x", TensorProto.FLOAT, [3, 4])],
        [value("y", TensorProto.FLOAT, [3, 2])],
        [
            codes,
            helper.make_tensor("s", TensorProto.FLOAT, [], [0.25]),
            helper.make_tensor("z", kind, [], [1]),
        ],
    )
    return Graph(helper.make_model(one, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


def test_they_mean_what_they_meant() -> None:
    graph, context = stored(), plain_context(**CPU)
    before = graph.to_model()
    assert unsigned_codes(graph, context) == 1
    codes = graph.array(next(graph.of_type("DequantizeLinear")).input[0])
    assert codes is not None
    assert codes.dtype == np.uint8
    feed = random_feeds(before)
    np.testing.assert_array_equal(run_model(graph.to_model(), feed)["y"], run_model(before, feed)["y"])
    assert any("w are stored as unsigned bytes" in note for note in context.report.notes)


@pytest.mark.parametrize(
    ("kind", "largest"),
    [
        (TensorProto.INT8, 64),
        (TensorProto.UINT8, 255),
        (TensorProto.INT16, 300),
        (TensorProto.INT16, -300),
        (TensorProto.INT4, 7),
    ],
)
def test_what_does_not_saturate_stays(kind: int, largest: int) -> None:
    graph = stored(kind, largest)
    before = graph.to_model().SerializeToString()
    assert unsigned_codes(graph, plain_context(**CPU)) == 0
    assert graph.to_model().SerializeToString() == before


@pytest.mark.parametrize(
    "asked", [{"reduce_range": False, "Target": "cpu"}, {"reduce_range": True, "Target": "ipu_cnn"}]
)
def test_elsewhere_codes_stay(asked: dict[str, object]) -> None:
    graph = stored()
    assert unsigned_codes(graph, plain_context(**asked)) == 0
