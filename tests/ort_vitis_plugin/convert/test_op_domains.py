"""The custom ops change between Quark's names and those of Vitis, wherever they stand."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.convert import rename_ops
from ort_vitis_plugin.errors import UnknownNameError

VAI, QUARK = custom_ops.VAI_DOMAIN, custom_ops.QUARK_DOMAIN
X = np.array([0.3, -1.2, 7.7], np.float32)


def model_of() -> onnx.ModelProto:
    """A pair in the graph and a pair in both branches of an If."""

    def pair(source: str, name: str) -> list[onnx.NodeProto]:
        return [
            helper.make_node("VitisQuantizeLinear", [source, "s", "z"], [f"{name}_q"], domain=VAI),
            helper.make_node("VitisDequantizeLinear", [f"{name}_q", "s", "z"], [name], domain=VAI),
        ]

    out = helper.make_tensor_value_info("inner", TensorProto.FLOAT, [3])
    branch = helper.make_graph(pair("x", "inner"), "branch", [], [out])
    nodes = [
        *pair("x", "outer"),
        helper.make_node("If", ["c"], ["chosen"], then_branch=branch, else_branch=branch),
        helper.make_node("Add", ["outer", "chosen"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "names",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        [helper.make_tensor("s", TensorProto.FLOAT, [], [0.1]), helper.make_tensor("z", TensorProto.INT16, [], [5])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    custom_ops.add_functions(model)
    return model


def run(model: onnx.ModelProto) -> Any:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": X, "c": np.array(True)})[0]


def test_there_and_back() -> None:
    model = model_of()
    before = model.SerializeToString()
    quark = rename_ops(model, QUARK)
    assert {function.domain for function in quark.functions} == {QUARK}
    text = onnx.printer.to_text(quark.graph)
    assert "Vitis" not in text
    assert text.count("ExtendedQuantizeLinear") == 3
    back = rename_ops(quark, VAI)
    assert onnx.printer.to_text(back.graph) == onnx.printer.to_text(model.graph)
    for renamed in (quark, back):
        np.testing.assert_array_equal(run(renamed), run(model))
    assert model.SerializeToString() == before


def test_every_op_has_a_partner() -> None:
    nodes = [
        helper.make_node(name, ["x"], [f"y{i}"], domain=VAI) for i, name in enumerate(["BFPFixNeuron", "VitisLSTM"])
    ]
    graph = helper.make_graph(nodes, "others", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])], [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(VAI, 1)])
    renamed = rename_ops(model, QUARK)
    assert [(node.domain, node.op_type) for node in renamed.graph.node] == [
        (QUARK, "BFPQuantizeDequantize"),
        (QUARK, "ExtendedLSTM"),
    ]


def test_a_domain_of_neither() -> None:
    with pytest.raises(UnknownNameError, match=r"'com\.amd\.quarks' is neither .*did you mean com\.amd\.quark"):
        rename_ops(model_of(), "com.amd.quarks")
