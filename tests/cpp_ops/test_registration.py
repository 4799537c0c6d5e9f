"""The library gets into a session in every way that people try."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops


def run(model: onnx.ModelProto, options: ort.SessionOptions, x: Any) -> Any:
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


X = np.array([[0.3, -1.2, 7.7]], np.float32)


def test_registered_twice(library: str, one_node: Any) -> None:
    """Through us, through ORT, in either order: the library marks the options that it has seen."""
    model = one_node("VitisQuantizeLinear", 0.1, np.int16(3))
    for ways in ("uu", "uo", "ou", "oo"):
        options = ort.SessionOptions()
        for way in ways:
            if way == "u":
                assert custom_ops.register(options)
            else:
                options.register_custom_ops_library(library)
        np.testing.assert_array_equal(run(model, options, X), [[6, -9, 80]])


def test_options_shared_by_sessions(library: str, one_node: Any) -> None:
    options = ort.SessionOptions()
    options.register_custom_ops_library(library)
    for zero_point in (np.int16(3), np.uint8(3)):
        got = run(one_node("VitisQuantizeLinear", 0.1, zero_point), options, X)
        np.testing.assert_array_equal(got, custom_ops.quantize_linear(X, 0.1, zero_point))


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_beside_onnxruntime_extensions(library: str, one_node: Any, first: str) -> None:
    extensions = pytest.importorskip("onnxruntime_extensions")
    model = one_node("FixNeuron", 0.25, np.int8(0), domain=custom_ops.CONTRIB_DOMAIN, bit_width="8", pos="2")
    model.graph.node.append(
        helper.make_node("VitisQuantizeLinear", ["y", "s", "z"], ["q"], domain=custom_ops.VAI_DOMAIN)
    )
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("q", TensorProto.INT8, None))
    custom_ops.add_functions(model)
    paths = [library, extensions.get_library_path()]
    options = ort.SessionOptions()
    for path in paths if first == "ours" else reversed(paths):
        options.register_custom_ops_library(path)
    np.testing.assert_array_equal(run(model, options, X), [[1, -5, 31]])


def test_quark_names(open_session: Any, one_node: Any) -> None:
    quantize = one_node("ExtendedQuantizeLinear", 0.1, np.uint16(9), domain=custom_ops.QUARK_DOMAIN)
    (codes,) = open_session(quantize).run(None, {"x": X})
    np.testing.assert_array_equal(codes, custom_ops.quantize_linear(X, 0.1, np.uint16(9)))
    dequantize = one_node("ExtendedDequantizeLinear", 0.1, np.uint16(9), domain=custom_ops.QUARK_DOMAIN)
    (back,) = open_session(dequantize).run(None, {"x": codes})
    np.testing.assert_array_equal(back, custom_ops.dequantize_linear(codes, 0.1, np.uint16(9)))


@pytest.mark.parametrize("op_type", ["VitisQuantizeLinear", "VitisDequantizeLinear", "FixNeuron"])
@pytest.mark.parametrize("spelling", ["left out", "empty name"])
def test_zero_point_left_out(open_session: Any, one_node: Any, op_type: str, spelling: str) -> None:
    """uint8 zeros for a quantizer, as ONNX says; the input's type for a dequantizer; int8 for a FixNeuron."""
    kind = np.int8 if op_type == "FixNeuron" else np.uint8
    model = one_node(op_type, 0.1, kind(0))
    del model.graph.node[0].input[2:]
    if spelling == "empty name":
        model.graph.node[0].input.append("")
    x = X if op_type != "VitisDequantizeLinear" else np.array([[1, 200, 255]], np.uint8)
    want = {
        "VitisQuantizeLinear": custom_ops.quantize_linear,
        "VitisDequantizeLinear": custom_ops.dequantize_linear,
        "FixNeuron": custom_ops.fix_neuron,
    }[op_type](x, np.float32(0.1))
    got = {"library": open_session(model).run(None, {"x": x})[0]}
    custom_ops.add_functions(model)
    got["function"] = run(model, ort.SessionOptions(), x)
    for result in got.values():
        assert result.dtype == want.dtype
        np.testing.assert_array_equal(result, want)


def test_shapes_are_inferred(library: str, one_node: Any) -> None:
    """ORT writes what it inferred: known and named dimensions pass, unknown ones are not invented.

    Before 1.24 ORT crashes in shape inference where an optional input has an empty name: there the types must do.
    """
    infers = tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 24)
    for shape, want in (([2, "N", 3], [2, "N", 3]), (["A", None], None), (None, None)):
        model = one_node("VitisQuantizeLinear", 0.1, np.int16(0))
        model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, shape))
        options = ort.SessionOptions()
        options.register_custom_ops_library(library)
        options.log_severity_level = 4
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        (output,) = session.get_outputs()
        assert output.type == "tensor(int16)"
        if infers:
            assert (output.shape or None) == want
        rank = 3 if shape is None else len(shape)
        x = np.ones((2,) * (rank - 1) + (3,), np.float32)
        assert session.run(None, {"x": x})[0].shape == x.shape
