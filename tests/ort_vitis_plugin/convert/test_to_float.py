"""Quantization is undone: no pair is left, weights are floats, and a dropped Relu is back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType
from onnxruntime.quantization.quantize import quantize_static as ort_quantize_static

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType, custom_ops, quantize_static
from ort_vitis_plugin.convert import quantized_to_float, remove_initializers_from_inputs, standard_to_vitis
from ort_vitis_plugin.emission import clip_metadata
from ort_vitis_plugin.graph import Skip
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.testing import graph as parsed

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1, 2, 6, 6)).astype(np.float32)
W = (RNG.integers(-127, 127, (4, 2, 3, 3)) / 64).astype(np.float32)  # exact in int8 with scale 1/64


def conv(kind: str, zero_point: int, relu: bool) -> onnx.ModelProto:
    """x -> pair -> Conv(W) [-> Relu] -> pair -> y; zero point 0 of uint8 behind the Conv stands for a Relu."""
    nodes: list[onnx.NodeProto] = []
    initializers: list[onnx.TensorProto] = []

    def quantized(source: str, target: str, scale: float, zero: Any, codes: Any = None) -> None:
        zero = np.asarray(zero)
        parameters = [f"{target}_s", f"{target}_z"]
        initializers.append(numpy_helper.from_array(np.array(scale, np.float32), parameters[0]))
        initializers.append(numpy_helper.from_array(zero, parameters[1]))
        if kind == "FixNeuron":
            nodes.append(
                helper.make_node("FixNeuron", [source, *parameters], [target], domain=custom_ops.CONTRIB_DOMAIN)
            )
            return
        domain, prefix = (custom_ops.VAI_DOMAIN, "Vitis") if kind == "Vitis" else ("", "")
        stored = f"{target}_codes"
        if codes is None:
            nodes.append(helper.make_node(f"{prefix}QuantizeLinear", [source, *parameters], [stored], domain=domain))
        else:
            initializers.append(numpy_helper.from_array(codes, stored))
        nodes.append(helper.make_node(f"{prefix}DequantizeLinear", [stored, *parameters], [target], domain=domain))

    quantized("x", "x_f", 1 / 32, np.uint8(128))
    codes = None if kind == "FixNeuron" else (W * 64).astype(np.int8)
    if kind == "FixNeuron":
        initializers.append(numpy_helper.from_array(W, "W"))
    quantized("W", "W_f", 1 / 64, np.int8(0), codes)
    nodes.append(helper.make_node("Conv", ["x_f", "W_f"], ["c"]))
    if relu:
        nodes.append(helper.make_node("Relu", ["c"], ["r"]))
    quantized("r" if relu else "c", "y", 1 / 8, np.uint8(zero_point))
    graph = helper.make_graph(
        nodes,
        "conv",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    custom_ops.add_functions(model)
    return model


def run(model: onnx.ModelProto) -> Any:
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": X})[0]


def float_conv() -> Any:
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "W"], ["y"])],
        "float",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4])],
        [numpy_helper.from_array(W, "W")],
    )
    return run(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("zero_point", [128, 0])
@pytest.mark.parametrize("kind", ["native", "Vitis", "FixNeuron"])
def test_the_float_network_is_back(kind: str, zero_point: int, relu: bool) -> None:
    model = conv(kind, zero_point, relu)
    before = model.SerializeToString()
    skips: list[Skip] = []
    result = quantized_to_float(model, skips)
    assert model.SerializeToString() == before
    assert not skips
    assert {node.op_type for node in result.graph.node} <= {"Conv", "Relu"}
    assert not result.functions
    assert [entry.domain for entry in result.opset_import] == [""]
    assert {tensor.data_type for tensor in result.graph.initializer} == {TensorProto.FLOAT}
    want = float_conv()
    np.testing.assert_array_equal(run(result), np.maximum(want, 0) if relu or zero_point == 0 else want)


def test_a_pair_alone_is_the_identity() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
        ],
        "alone",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(X.shape))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, list(X.shape))],
        [helper.make_tensor("s", TensorProto.FLOAT, [], [0.1]), helper.make_tensor("z", TensorProto.UINT8, [], [0])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    np.testing.assert_array_equal(run(quantized_to_float(model)), X)


def test_integer_operators_stay_and_say_why() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            helper.make_node("MatMulInteger", ["q", "w"], ["m"], "the_matmul"),
            helper.make_node("Cast", ["m"], ["y"], to=TensorProto.FLOAT),
        ],
        "integers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(X.shape))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            helper.make_tensor("s", TensorProto.FLOAT, [], [0.1]),
            helper.make_tensor("z", TensorProto.UINT8, [], [0]),
            numpy_helper.from_array(np.ones((6, 2), np.int8), "w"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    skips: list[Skip] = []
    result = quantized_to_float(model, skips)
    assert [(skip.node, skip.op_type) for skip in skips] == [("the_matmul", "MatMulInteger")]
    assert [node.op_type for node in result.graph.node] == ["QuantizeLinear", "MatMulInteger", "Cast"]


def test_initializers_leave_the_inputs() -> None:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "b"], ["y"])],
        "old",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("x", "b")],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        [numpy_helper.from_array(np.ones(3, np.float32), "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=3)
    result = remove_initializers_from_inputs(model)
    assert [value.name for value in result.graph.input] == ["x"]
    assert len(model.graph.input) == 2
    onnx.checker.check_model(result)
    again = remove_initializers_from_inputs(result)
    assert again.SerializeToString() == result.SerializeToString()


# ---------------------------------------------------------------------- clamps that saturation replaced

CLAMPS = """t (float[1, 3, 8, 8] x) => (float[] y) {
    a = Conv<pads = [1, 1, 1, 1]>(x, w1, b1)
    r = Relu(a)
    c = Conv<pads = [1, 1, 1, 1]>(r, w2, b2)
    d = Clip(c, zero, six)
    e = Conv<pads = [1, 1, 1, 1]>(d, w3, b3)
    f = Clip(e, minus, one)
    g = Add(f, r)
    h = Relu(g)
    y = Conv(h, w2)
}"""
GIVEN = np.random.default_rng(7)
CONSTANTS = {
    "w1": np.float32(GIVEN.standard_normal((8, 3, 3, 3))),
    **{name: np.float32(GIVEN.standard_normal((8, 8, 3, 3)) / 5) for name in ("w2", "w3")},
    **{name: np.float32(GIVEN.standard_normal(8)) for name in ("b1", "b2", "b3")},
    "zero": np.float32(0),
    "six": np.float32(6),
    "minus": np.float32(-1),
    "one": np.float32(1),
}
SAMPLES = [{"x": np.float32(GIVEN.standard_normal((1, 3, 8, 8)))} for _ in range(3)]
BEYOND = {"x": SAMPLES[0]["x"] * 8}

NATIVE, VITIS, FIX = QuantFormat.QDQ, VitisQuantFormat.QDQ, VitisQuantFormat.FixNeuron
FORMATS: dict[str, tuple[Any, Any]] = {
    "native uint8": (NATIVE, QuantType.QUInt8),
    "native int8": (NATIVE, QuantType.QInt8),
    "Vitis uint8": (VITIS, QuantType.QUInt8),
    "Vitis int16": (VITIS, VitisQuantType.QInt16),
    "Vitis uint32": (VITIS, VitisQuantType.QUInt32),
    "Vitis bfloat16": (VITIS, VitisQuantType.QBFloat16),
    "FixNeuron": (FIX, QuantType.QInt8),
}


class Reader:
    """The samples, once."""

    def __init__(self) -> None:
        self.left = iter(SAMPLES)

    def get_next(self) -> Any:
        return next(self.left, None)


def clamps_of(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node if node.op_type in ("Relu", "Clip")]


def decibels(left: onnx.ModelProto, right: onnx.ModelProto) -> float:
    """On data eight times as large as what calibration saw."""
    return min(
        sqnr_db(*(open_session(model, [custom_ops.register]).run(None, feed)[0] for model in (left, right)))
        for feed in (SAMPLES[0], BEYOND)
    )


@pytest.mark.parametrize("method", [CalibrationMethod.MinMax, PowerOfTwoMethod.MinMSE])
@pytest.mark.parametrize(
    ("name", "symmetric"), [*product(FORMATS, [True]), *((name, False) for name in FORMATS if name != "FixNeuron")]
)
def test_round_trip_keeps_every_clamp(name: str, method: Any, symmetric: bool) -> None:
    """Vitis QDQ and FixNeuron store weights as floats, native QDQ as codes."""
    quant_format, activation = FORMATS[name]
    model = parsed(CLAMPS, 17, CONSTANTS)
    quantized = quantize_static(
        model,
        None,
        Reader(),
        quant_format=quant_format,
        calibrate_method=method,
        activation_type=activation,
        weight_type=QuantType.QInt8,
        extra_options={"ActivationSymmetric": symmetric},
    ).model
    if not symmetric and activation is not VitisQuantType.QBFloat16:
        assert len(clamps_of(quantized)) < 4
    back = quantized_to_float(quantized)
    onnx.checker.check_model(back, full_check=True)
    assert clamps_of(back) == ["Relu", "Clip", "Clip", "Relu"]
    assert clip_metadata.kept(back) is None
    assert decibels(model, back) > (30 if quant_format is NATIVE else 200)


def test_what_is_written_down_survives_other_conversions() -> None:
    model = parsed(CLAMPS, 17, CONSTANTS)
    quantized = quantize_static(
        model, None, Reader(), calibrate_method=CalibrationMethod.MinMax, activation_type=QuantType.QUInt8
    ).model
    assert clip_metadata.kept(quantized) == {"r": (0, None), "d": (0, 6), "f": (-1, 1), "h": (0, None)}
    assert clamps_of(quantized_to_float(standard_to_vitis(quantized))) == ["Relu", "Clip", "Clip", "Relu"]


def test_clamps_of_attributes_below_opset_11() -> None:
    text = (
        "t (float[1, 3, 8, 8] x) => (float[] y) { c = Conv(x, w1) d = Clip<min = 0.0, max = 6.0>(c) y = Conv(d, w2) }"
    )
    model = parsed(text, 10, CONSTANTS)
    quantized = onnx.ModelProto()
    quantized.CopyFrom(model)
    del quantized.graph.node[1]
    quantized.graph.node[1].input[0] = "c"
    clip_metadata.keep(quantized, {"c": (0.0, 6.0)})
    back = quantized_to_float(quantized)
    assert clamps_of(back) == ["Clip"]
    assert decibels(model, back) > 200


@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QInt8])
def test_clamps_that_onnxruntime_dropped(tmp_path: Any, kind: Any) -> None:
    """Its codes begin at zero where a Relu was, and end at six where a Relu6 was and calibration reached it."""
    text = CLAMPS.replace("f = Clip(e, minus, one)", "f = Identity(e)")
    model = parsed(text, 17, CONSTANTS)
    onnx.save(model, str(tmp_path / "float.onnx"))
    ort_quantize_static(
        str(tmp_path / "float.onnx"),
        str(tmp_path / "quantized.onnx"),
        Reader(),
        quant_format=NATIVE,
        activation_type=kind,
        weight_type=QuantType.QInt8,
        per_channel=True,
    )
    quantized = onnx.load(str(tmp_path / "quantized.onnx"))
    assert clamps_of(quantized) == []
    back = quantized_to_float(quantized)
    assert clamps_of(back) == ["Relu", "Clip", "Relu"]
    assert decibels(model, back) > 30


def test_nothing_is_clamped_where_nothing_is_negative() -> None:
    """Behind Relu and Sigmoid, pools, sums and shapes of these."""
    text = """t (float[1, 3, 8, 8] x) => (float[] y) {
        a = Conv(x, w1)  r = Relu(a)  rq = QuantizeLinear(r, s, z)  rd = DequantizeLinear(rq, s, z)
        p = AveragePool<kernel_shape = [1, 1]>(rd)  g = Sigmoid(a)  m = Add(p, g)  n = Transpose(m)
        nq = QuantizeLinear(n, s, z)  y = DequantizeLinear(nq, s, z)
    }"""
    model = parsed(text, 17, {"w1": CONSTANTS["w1"], "s": np.float32(0.1), "z": np.uint8(0)})
    back = quantized_to_float(model)
    assert [node.op_type for node in back.graph.node] == ["Conv", "Relu", "AveragePool", "Sigmoid", "Add", "Transpose"]
    del model.graph.node[1]
    model.graph.node[1].input[0] = "a"
    assert clamps_of(quantized_to_float(model)) == ["Relu"]
