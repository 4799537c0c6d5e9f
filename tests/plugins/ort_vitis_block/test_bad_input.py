"""An attribute that an op does not have ends session creation, and the making of functions, with its value."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from ort_vitis_block import add_block_functions
from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.errors import ModelError, UnsupportedError

BFP, MX = "BFPFixNeuron", "MXFixNeuron"
CASES: dict[str, tuple[str, dict[str, int | str], str]] = {
    "method": (BFP, {"bfp_method": "to_bfb"}, "bfp_method is 'to_bfb'; it must be 'to_bfp' or 'to_bfp_prime'"),
    "narrow": (BFP, {"bit_width": 9}, "bit_width is 9; it must be an integer from 10 to 32"),
    "wide": (BFP, {"bit_width": 33}, "bit_width is 33; it must be an integer from 10 to 32"),
    "text": (BFP, {"bit_width": "16"}, "bit_width is '16'; it must be an integer"),
    "no block": (BFP, {"block_size": 0}, "block_size is 0; it must be an integer of at least 1"),
    "negative block": (MX, {"block_size": -32}, "block_size is -32; it must be an integer of at least 1"),
    "rounding": (MX, {"rounding_mode": 3}, "rounding_mode is 3; it must be an integer from 0 to 2"),
    "part": (BFP, {"bfp_method": "to_bfp_prime", "sub_block_size": 3}, "sub_block_size is 3; it must divide block_s"),
    "no part": (BFP, {"sub_block_size": 0}, "sub_block_size is 0; it must be an integer of at least 1"),
    "shift": (BFP, {"sub_block_shift_bits": 7}, "sub_block_shift_bits is 7; it must be an integer from 0 to 6"),
    "bfloat": (BFP, {"convert_to_bfloat_before_bfp": 1}, "convert_to_bfloat_before_bfp is 1; it must be 0"),
    "compiler": (BFP, {"use_compiler_version_cpu_kernel": 1}, "use_compiler_version_cpu_kernel is 1; it must be 0"),
    "element": (MX, {"element_dtype": "fp8"}, "element_dtype is 'fp8'; it must be one of 'int8', 'fp8_e5m2', "),
}


def model_of(op_type: str, attributes: dict[str, int | str], element: int = TensorProto.FLOAT) -> onnx.ModelProto:
    node = helper.make_node(op_type, ["x"], ["y"], name="the_node", domain="com.vai.quantize", **attributes)
    values = [helper.make_tensor_value_info(name, element, ["a", "b"]) for name in "xy"]
    graph = helper.make_graph([node], "bad", values[:1], values[1:])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.vai.quantize", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def with_library(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if not custom_ops.register(options):
        pytest.skip("no compiled library here; cmake -S . -B build && cmake --build build makes one")
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("case", CASES)
def test_library(case: str) -> None:
    op_type, attributes, message = CASES[case]
    with pytest.raises(Exception, match=message) as caught:
        with_library(model_of(op_type, attributes))
    assert f"{op_type} node 'the_node'" in str(caught.value)


@pytest.mark.parametrize("case", CASES)
def test_functions(case: str) -> None:
    op_type, attributes, message = CASES[case]
    with pytest.raises(ModelError, match=f"{op_type} node 'the_node': {message}"):
        add_block_functions(model_of(op_type, attributes))


def test_an_old_opset_is_refused() -> None:
    model = model_of(BFP, {})
    model.opset_import[0].version = 13
    with pytest.raises(UnsupportedError, match="BFPFixNeuron needs opset 14"):
        add_block_functions(model)


@pytest.mark.parametrize("axis", [2, -3])
def test_axis_out_of_range(axis: int) -> None:
    x = np.ones((2, 3), np.float32)
    model = model_of(BFP, {"axis": axis})
    with pytest.raises(Exception, match=rf"the_node': axis {axis} is out of range .* \[2,3\]; .* \[-2, 1\]"):
        with_library(model).run(None, {"x": x})
    add_block_functions(model)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    with pytest.raises(Exception, match="out of data bounds"):
        session.run(None, {"x": x})


def test_doubles_are_refused() -> None:
    with pytest.raises(Exception, match="the_node"):
        with_library(model_of(MX, {}, TensorProto.DOUBLE))


@pytest.mark.parametrize("block", [2**20, 2**62, 2**63 - 1])
def test_a_block_beyond_the_line_takes_no_memory(block: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, 50)).astype(np.float32)
    for op_type, attributes in ((BFP, {}), (BFP, {"bfp_method": "to_bfp_prime", "sub_block_size": 1}), (MX, {})):
        model = model_of(op_type, {**attributes, "block_size": block})
        want = with_library(model).run(None, {"x": x})[0]
        add_block_functions(model)
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], want)
