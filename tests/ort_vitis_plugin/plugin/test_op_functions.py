"""A model without the definitions of our operators gets them; any other is given back as it is."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import ModelProto

from ort_vitis_plugin.plugin.op_functions import define_ops, with_definitions
from ort_vitis_plugin.testing import graph

BARE = """<ir_version: 8, opset_import: ["" : 17, "com.vai.quantize" : 1]>
t (float[4] x) => (float[4] y) {
    s = Constant<value = float {0.5}>()  z = Constant<value = int8 {0}>()
    q = com.vai.quantize.VitisQuantizeLinear(x, s, z)  y = com.vai.quantize.VitisDequantizeLinear(q, s, z) }"""


def names(model: ModelProto) -> list[str]:
    return sorted(function.name for function in model.functions)


def test_definitions_are_added_to_a_copy() -> None:
    bare = graph(BARE)
    found = with_definitions(bare)
    assert names(found) == ["VitisDequantizeLinear", "VitisQuantizeLinear"]
    assert names(bare) == []
    assert with_definitions(found) is found


def test_models_that_need_none_are_given_back() -> None:
    plain = graph("t (float[4] x) => (float[4] y) { y = Relu(x) }")
    foreign = graph(BARE.replace("com.vai.quantize", "nobody").replace("Vitis", "Their"))
    assert with_definitions(plain) is plain
    assert with_definitions(foreign) is foreign


def test_a_second_time_changes_nothing() -> None:
    model = graph(BARE)
    define_ops(model)
    before = model.SerializeToString(deterministic=True)
    define_ops(model)
    assert model.SerializeToString(deterministic=True) == before
