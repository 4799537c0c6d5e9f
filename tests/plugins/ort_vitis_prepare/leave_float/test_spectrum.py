"""What leads from a signal to its spectrum stays float; a network's own roots and logarithms lose their squares."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

import ort_vitis_plugin as vitis
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph, plain_context
from ort_vitis_prepare.leave_float.spectrum import float_spectrum

FRAMES, BINS = 128, 65
RNG = np.random.default_rng(3)


def fourier() -> np.ndarray[Any, Any]:
    """Rows of cosines, then of sines, under a Hann window, as the weights of a convolution."""
    time, bins = np.arange(FRAMES), np.arange(BINS)[:, None]
    angle = 2 * np.pi * bins * time / FRAMES
    return np.float32(np.concatenate([np.cos(angle), np.sin(angle)]) * np.hanning(FRAMES))[:, None]


CONSTANTS: dict[str, Any] = {
    "dft": fourier(),
    "half": np.array([BINS, BINS]),
    "two": np.array(2, np.float32),
    "eps": np.array(1e-5, np.float32),
    "mel": np.float32(np.abs(RNG.standard_normal((20, BINS, 1))) / BINS),
    "w": np.float32(RNG.standard_normal((8, BINS, 3)) * 0.1),
    "v": np.float32(RNG.standard_normal((8, 20, 3)) * 0.1),
}
SPECTRUM = (
    "c = Conv<strides = [64]>(x, dft) re, im = Split<axis = 1>(c, half) "
    "a = Pow(re, two) b = Mul(im, im) p = Add(a, b) r = Sqrt(p) "
)


def model(body: str, source: str = "float[1, 1, 4096] x", **constants: Any) -> ModelProto:
    used = {
        name: array for name, array in {**CONSTANTS, **constants}.items() if f" {name}" in body or f"({name}" in body
    }
    return graph(f"t ({source}) => (float[] y) {{ {body} }}", 17, used)


MAGNITUDE = model(SPECTRUM + "y = Conv(r, w)")
LOG_MEL = model(SPECTRUM + "m = Conv(r, mel) n = Max(m, eps) l = Log(n) y = Conv(l, v)")


def tone(seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """A loud tone, a soft one far above it, and noise 60 dB below."""
    rng = np.random.default_rng(seed)
    time = np.arange(4096)
    low, high = rng.uniform(0.05, 0.2), rng.uniform(1.0, 2.5)
    signal = np.sin(low * time) + 0.01 * np.sin(high * time) + 0.001 * rng.standard_normal(4096)
    return {"x": np.float32(signal)[None, None]}


def normal(shape: tuple[int, ...], seed: int) -> dict[str, np.ndarray[Any, Any]]:
    return {"x": np.random.default_rng(seed).standard_normal(shape).astype(np.float32)}


def quantize(float_model: ModelProto, feeds: list[Any], target: str = "cpu", **arguments: Any) -> vitis.Result:
    npu = target == "ipu_cnn"
    options = {"Target": target, **arguments.pop("extra_options", {})}
    chosen: dict[str, Any] = {
        "quant_format": QuantFormat.QDQ,
        "calibrate_method": vitis.PowerOfTwoMethod.MinMSE if npu else CalibrationMethod.MinMax,
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
    }
    return vitis.quantize_static(float_model, None, feeds, **{**chosen, **arguments}, extra_options=options)


def left_by_rule(result: vitis.Result) -> list[str]:
    """Op types that the rule left float."""
    return sorted(
        text.partition(":")[0] for text in result.report.left_float.values() if text.endswith("more than its codes")
    )


@pytest.mark.option("FloatSpectrum")
@pytest.mark.parametrize("target", ["cpu", "ipu_cnn"])
@pytest.mark.parametrize("float_model", [MAGNITUDE, LOG_MEL], ids=["magnitude", "log mel"])
def test_a_spectrum_stays_float_and_what_follows_is_quantized(float_model: ModelProto, target: str) -> None:
    feeds = [tone(seed) for seed in range(4)]
    result = quantize(float_model, feeds, target)
    off = quantize(float_model, feeds, target, extra_options={"FloatSpectrum": False})
    assert "Conv" in left_by_rule(result)
    assert "Conv" in result.report.quantized.values()
    assert left_by_rule(off) == []
    assert result.report.sqnr["y"] > off.report.sqnr["y"] + 6


def test_frames_by_matmul_and_squares_summed_in_one_step() -> None:
    float_model = model(
        "f = Reshape(x, frames) c = MatMul(f, basis) s = ReduceSumSquare<axes = [1]>(c) r = Log(s) y = Conv(r, v)",
        frames=np.array([1, 32, FRAMES]),
        basis=fourier()[:, 0].T,
        v=np.float32(RNG.standard_normal((8, 1, 3))),
    )
    assert left_by_rule(quantize(float_model, [tone(seed) for seed in range(3)])) == ["MatMul", "Reshape"]


BLOCK = {"k": np.float32(RNG.standard_normal((16, 16)) * 0.3), "axis": np.array([-1])}
INSIDE = {
    "root of a variance": "m = ReduceMean<axes = [-1]>(h) d = Sub(h, m) q = Mul(d, d) n = ReduceMean<axes = [-1]>(q) "
    "e = Add(n, eps) r = Sqrt(e) z = Div(d, r) y = MatMul(z, k)",
    "root of energies": "q = Mul(h, h) r = Sqrt(q) y = MatMul(r, k)",
    "root of data": "g = Sigmoid(h) r = Sqrt(g) y = MatMul(r, k)",
    "log of probabilities": "p = Softmax(h) y = Log(p)",
}


@pytest.mark.parametrize("target", ["cpu", "ipu_cnn"])
@pytest.mark.parametrize("case", INSIDE)
def test_layers_inside_a_network_stay_quantized(case: str, target: str) -> None:
    float_model = model("u = MatMul(x, k) h = Relu(u) " + INSIDE[case], "float[4, 16] x", **BLOCK)
    result = quantize(float_model, [normal((4, 16), seed) for seed in range(3)], target)
    assert "MatMul" not in left_by_rule(result)
    assert set(left_by_rule(result)) <= {"Mul", "Add", "ReduceMean"}
    layers = sum(node.op_type == "MatMul" for node in float_model.graph.node)
    assert list(result.report.quantized.values()).count("MatMul") == layers


def test_a_filter_bank_that_is_too_large_to_fold_is_a_constant_all_the_same() -> None:
    """Its product with a magnitude is not a layer of the network: in codes it would be 0 under the logarithm."""
    bands = 300
    float_model = model(
        SPECTRUM
        + "f = Transpose<perm = [0, 2, 1]>(r) z = ConstantOfShape(size) bank = ScatterElements<axis = 1>(z, at, up) "
        "m = MatMul(f, bank) n = Add(m, eps) l = Log(n) y = MatMul(l, head)",
        size=np.array([BINS, bands]),
        at=RNG.integers(0, bands, (BINS, 1)),
        up=np.ones((BINS, 1), np.float32),
        head=RNG.standard_normal((bands, 4)).astype(np.float32),
    )
    result = vitis.quantize_static(
        float_model, None, [tone(seed) for seed in range(2)], extra_options={"Target": "cpu"}
    )
    assert {"MatMul", "Add", "Log", "Sqrt"} <= {text.partition(":")[0] for text in result.report.left_float.values()}
    assert {"m", "n", "bank"}.isdisjoint(result.report.types)
    assert "head" in result.report.types


def test_what_else_reads_the_signal_is_quantized() -> None:
    float_model = model(
        SPECTRUM + "t = Conv<strides = [64]>(c, w2) z = Conv(r, w) y = Concat<axis = 2>(t, z)",
        w2=np.float32(RNG.standard_normal((8, 2 * BINS, 1)) * 0.1),
    )
    result = quantize(float_model, [tone(seed) for seed in range(3)])
    assert "Conv" not in left_by_rule(result)
    assert set(left_by_rule(result)) <= {"Mul", "Add", "Split"}


def test_a_node_that_the_caller_names_is_quantized() -> None:
    named = ModelProto()
    named.CopyFrom(MAGNITUDE)
    for at, node in enumerate(named.graph.node):
        node.name = f"{node.op_type}_{at}"
    feeds = [tone(seed) for seed in range(3)]
    result = quantize(named, feeds, nodes_to_quantize=["Conv_0", named.graph.node[-1].name])
    assert set(result.report.quantized) == {"Conv_0", named.graph.node[-1].name}


def test_pre_emphasis_under_a_mask_is_a_linear_step() -> None:
    float_model = model(
        "f = Slice(x, one, end, last) h = Slice(x, zero, less, last) g = Mul(h, k) d = Sub(f, g) "
        "e = Where(mask, d, silence) "
        + SPECTRUM.replace("(x, dft)", "(e, dft)")
        + "m = Conv(r, mel) n = Max(m, eps) l = Log(n) y = Conv(l, v)",
        one=np.array([1]),
        zero=np.array([0]),
        end=np.array([4096]),
        less=np.array([4095]),
        last=np.array([2]),
        k=np.array(0.97, np.float32),
        mask=np.arange(4095) < 4000,
        silence=np.array(0, np.float32),
    )
    result = quantize(float_model, [tone(seed) for seed in range(3)])
    assert {"Slice", "Mul", "Where"} <= set(left_by_rule(result))
    assert list(result.report.quantized.values()) == ["Conv"]


FLOOR = LOG_MEL.SerializeToString().replace(CONSTANTS["eps"].tobytes(), np.float32(1e-9).tobytes())


@pytest.mark.parametrize("kind", ["QInt16", "QUInt16", "QFloat16", "QBFloat16", "QInt32"])
@pytest.mark.parametrize(
    "float_model", [MAGNITUDE, LOG_MEL, ModelProto.FromString(FLOOR)], ids=["root", "log", "floor"]
)
def test_types_of_fewer_decades_leave_the_spectrum_float(float_model: ModelProto, kind: str) -> None:
    feeds = [
        {"x": np.concatenate([tone(seed)["x"][..., :2048], np.zeros((1, 1, 2048), np.float32)], -1)} for seed in (0, 1)
    ]
    result = quantize(
        float_model,
        feeds,
        quant_format=vitis.VitisQuantFormat.QDQ,
        activation_type=vitis.VitisQuantType[kind],
        weight_type=vitis.VitisQuantType[kind],
    )
    assert ("Conv" in left_by_rule(result)) == (kind in ("QInt16", "QUInt16", "QFloat16"))
    assert result.report.sqnr["y"] > 30


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("y = Log(x)", {"y"}),
        ("s = Mul(x, x) y = Sqrt(s)", {"s", "y"}),
        ("s = Mul(x, x) t = Mul(z, z) u = Add(s, t) y = Sqrt(u)", {"s", "t", "u", "y"}),
        ("a = Abs(x) y = Sqrt(a)", set()),
        ("s = Mul(x, x) y = Sigmoid(s)", set()),
    ],
)
def test_roots_of_squares_and_logarithms_end_a_spectrum(body: str, left: set[str]) -> None:
    head = "float[2, 8] x" + (", float[2, 8] z" if "z" in body else "")
    model = graph(f"t ({head}) => (float[2, 8] y) {{ {body} }}")
    for node in model.graph.node:
        node.name = node.output[0]
    assert set(float_spectrum.select(Graph(model), plain_context()).nodes) == left
