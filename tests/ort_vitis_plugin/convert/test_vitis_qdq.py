"""Vitis pairs and ONNX's own turn into each other where the types allow, and results stay the same bit for bit."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.convert import quantized_to_float, standard_to_vitis, vitis_to_standard
from ort_vitis_plugin.graph import Skip

X = (np.random.default_rng(3).standard_normal((5, 3)) * 40).astype(np.float32)


def pair(dtype: Any, opset: int, *, domain: str = custom_ops.VAI_DOMAIN, scale: Any = 0.5) -> onnx.ModelProto:
    """y = DQ(Q(x)) + DQ(constant codes)."""
    dtype = np.dtype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    scale = np.asarray(scale, np.float32)
    prefix = {custom_ops.VAI_DOMAIN: "Vitis", custom_ops.QUARK_DOMAIN: "Extended"}.get(domain, "")
    zero = np.zeros(scale.shape, dtype)
    codes = np.array([1, 2, 3], np.uint8).astype(dtype)
    q = helper.make_node(f"{prefix}QuantizeLinear", ["x", "s", "z"], ["q"], "q", domain=domain, axis=1)
    dq = helper.make_node(f"{prefix}DequantizeLinear", ["q", "s", "z"], ["d"], "dq", domain=domain, axis=1)
    weight = helper.make_node(f"{prefix}DequantizeLinear", ["w", "s", "z"], ["wd"], "wdq", domain=domain, axis=-1)
    graph = helper.make_graph(
        [q, dq, weight, helper.make_node("Add", ["d", "wd"], ["y"])],
        "pair",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
        [
            helper.make_tensor("s", TensorProto.FLOAT, scale.shape, scale.ravel()),
            helper.make_tensor("z", kind, scale.shape, zero.tobytes(), raw=True),
            helper.make_tensor("w", kind, [3], codes.tobytes(), raw=True),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    custom_ops.add_functions(model)
    return model


def run(model: onnx.ModelProto) -> Any:
    onnx.checker.check_model(model)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": X})[0]


def ops(model: onnx.ModelProto) -> set[str]:
    return {f"{node.domain}:{node.op_type}" for node in model.graph.node} - {":Add"}


STANDARD = {":QuantizeLinear", ":DequantizeLinear"}
VITIS = {"com.vai.quantize:VitisQuantizeLinear", "com.vai.quantize:VitisDequantizeLinear"}


@pytest.mark.parametrize("scale", [0.5, [0.5, 0.1, 2.0]], ids=["per tensor", "per channel"])
@pytest.mark.parametrize(("dtype", "opset"), [(np.int8, 13), (np.uint8, 17), (np.int16, 21), (np.uint16, 21)])
def test_there_and_back(dtype: Any, opset: int, scale: Any) -> None:
    model = pair(dtype, opset, scale=scale)
    before = model.SerializeToString()
    skips: list[Skip] = []
    standard = vitis_to_standard(model, skips)
    assert ops(standard) == STANDARD
    assert not standard.functions
    assert [entry.domain for entry in standard.opset_import] == [""]
    back = standard_to_vitis(standard, skips)
    assert ops(back) == VITIS
    assert len(back.functions) == 2
    assert not skips
    want = run(model)
    np.testing.assert_array_equal(run(standard), want)
    np.testing.assert_array_equal(run(back), want)
    assert model.SerializeToString() == before


@pytest.mark.parametrize("domain", [custom_ops.QUARK_DOMAIN, custom_ops.CONTRIB_DOMAIN])
def test_other_domains(domain: str) -> None:
    model = pair(np.int8, 17, domain=domain)
    standard = vitis_to_standard(model)
    assert ops(standard) == STANDARD
    np.testing.assert_array_equal(run(standard), run(model))


@pytest.mark.parametrize(
    ("dtype", "opset", "reason"),
    [
        (np.int16, 17, "int16 needs opset 21; the model has 17"),
        (np.int32, 21, "QuantizeLinear has no int32"),
        (np.uint32, 21, "QuantizeLinear has no uint32"),
        (np.float16, 21, "QuantizeLinear has no float16"),
        (ml_dtypes.bfloat16, 21, "QuantizeLinear has no bfloat16"),
    ],
)
def test_types_that_onnx_lacks_stay_and_say_why(dtype: Any, opset: int, reason: str) -> None:
    model = pair(dtype, opset)
    skips: list[Skip] = []
    result = vitis_to_standard(model, skips)
    assert {skip.reason for skip in skips} == {reason}
    assert ops(result) >= {"com.vai.quantize:VitisQuantizeLinear"}
    np.testing.assert_array_equal(run(result), run(model))


def test_int32_biases_are_dequantized_by_onnx_too() -> None:
    result = vitis_to_standard(pair(np.int32, 17))
    kinds = {node.name: node.op_type for node in result.graph.node}
    assert kinds["wdq"] == "DequantizeLinear"
    assert kinds["q"] == "VitisQuantizeLinear"
    assert kinds["dq"] == "VitisDequantizeLinear"


@pytest.mark.parametrize("domain", [custom_ops.VAI_DOMAIN, custom_ops.CONTRIB_DOMAIN])
def test_fix_neuron(domain: str) -> None:
    node = helper.make_node("FixNeuron", ["x", "s", "z"], ["y"], "fix", domain=domain, bit_width="8", pos="1")
    graph = helper.make_graph(
        [node],
        "fix",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]), helper.make_tensor("z", TensorProto.INT8, [], [0])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    custom_ops.add_functions(model)
    standard = vitis_to_standard(model)
    assert [node.op_type for node in standard.graph.node] == ["QuantizeLinear", "DequantizeLinear"]
    np.testing.assert_array_equal(run(standard), run(model))
    node.attribute[0].s = b"4"
    graph.node[0].CopyFrom(node)
    narrow = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    skips: list[Skip] = []
    assert [node.op_type for node in vitis_to_standard(narrow, skips).graph.node] == ["FixNeuron"]
    assert skips[0].reason == "4 bits of int8; QuantizeLinear has 8 bits"


def test_what_vitis_lacks_stays() -> None:
    model = pair(np.int8, 21, domain="")
    model.graph.node[0].attribute.append(helper.make_attribute("block_size", 2))
    skips: list[Skip] = []
    result = standard_to_vitis(model, skips)
    assert [skip.reason for skip in skips] == ["its scale is per block"]
    assert result.graph.node[0].op_type == "QuantizeLinear"


def test_output_type_without_a_zero_point() -> None:
    """ONNX says it by output_dtype, Vitis by the zero point."""
    model = pair(np.int16, 21, domain="")
    for node in model.graph.node[:3]:
        del node.input[2:]
    model.graph.node[0].attribute.append(helper.make_attribute("output_dtype", int(TensorProto.INT16)))
    result = standard_to_vitis(model)
    assert ops(result) == VITIS
    np.testing.assert_array_equal(run(result), run(model))


@pytest.mark.parametrize(
    ("convert", "domain"),
    [(quantized_to_float, custom_ops.VAI_DOMAIN), (vitis_to_standard, custom_ops.VAI_DOMAIN), (standard_to_vitis, "")],
)
def test_what_stays_in_bodies_is_said(convert: Any, domain: str) -> None:
    inner = pair(np.int8, 17, domain=domain)
    branch = helper.make_graph(inner.graph.node, "branch", [], inner.graph.output, inner.graph.initializer)
    node = helper.make_node("If", ["c"], ["out"], "choice", then_branch=branch, else_branch=branch)
    graph = helper.make_graph(
        [node],
        "outer",
        [helper.make_tensor_value_info("c", TensorProto.BOOL, []), inner.graph.input[0]],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["N", 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    custom_ops.add_functions(model)
    skips: list[Skip] = []
    result = convert(model, skips)
    assert {skip.reason for skip in skips} == {"it is in a body of If node 'choice', which stays as it is"}
    assert {skip.node for skip in skips} >= {"dq", "wdq"}
    session = ort.InferenceSession(result.SerializeToString(), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"c": np.array(True), "x": X})
    np.testing.assert_array_equal(got, run(pair(np.int8, 17, domain=domain)))
