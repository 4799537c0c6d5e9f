"""What onnxruntime's integer kernels lose on a CPU without VNNI is found, and weights of seven bits repair it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

import ort_vitis_plugin as vitis
from ort_vitis_plugin.emission import clip_metadata
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.pipeline import stages
from ort_vitis_plugin.testing import graph
from tests.thinned import thinned

RNG = np.random.default_rng(1)
MODEL = graph(
    "t (float[1, 3, 8, 8] x) => (float[] y) { y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }",
    13,
    {"w": np.float32(RNG.standard_normal((8, 3, 3, 3))), "b": np.float32(RNG.standard_normal(8))},
)
FEEDS = [{"x": np.float32(RNG.uniform(0, 1, (1, 3, 8, 8)))} for _ in range(3)]
ALL = ort.GraphOptimizationLevel.ORT_ENABLE_ALL


def quantize(**options: Any) -> vitis.Result:
    return vitis.quantize_static(
        MODEL,
        None,
        list(FEEDS),
        quant_format=QuantFormat.QDQ,
        calibrate_method=CalibrationMethod.MinMax,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
        per_channel=True,
        extra_options=options,
    )


def largest_code(model: ModelProto) -> int:
    arrays = [numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name == "w_quantized"]
    return int(np.abs(arrays[0].astype(int)).max())


def decibels(source: ModelProto, model: ModelProto, feeds: list[dict[str, Any]], level: Any = ALL) -> float:
    wanted = [open_session(source).run(None, feed)[0] for feed in feeds]
    found = [open_session(model, level=level).run(None, feed)[0] for feed in feeds]
    return sqnr_db(np.stack(wanted), np.stack(found))


def test_the_result_is_good_in_a_default_session_whatever_the_cpu() -> None:
    model = quantize().model
    faithful = decibels(MODEL, model, FEEDS, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC)
    assert decibels(MODEL, model, FEEDS) > faithful - 3


def weight(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


PRODUCTS: dict[str, ModelProto] = {
    "MatMul": graph("t (float[2, 8] x) => (float[2, 8] y) { y = MatMul(x, w) }", 17, {"w": weight(8, 8)}),
    "two MatMuls": graph(
        "t (float[2, 8] x) => (float[2, 8] y) { h = MatMul(x, w) r = Relu(h) y = MatMul(r, w) }",
        17,
        {"w": weight(8, 8)},
    ),
    "Gemm": graph(
        "t (float[2, 8] x) => (float[2, 6] y) { y = Gemm<transB = 1>(x, w, b) }",
        17,
        {"w": weight(6, 8), "b": weight(6)},
    ),
    "Conv": MODEL,
}


@pytest.mark.parametrize(
    ("form", "activation", "per_channel", "name"),
    thinned(
        2,
        [QuantFormat.QDQ, QuantFormat.QOperator],
        [QuantType.QUInt8, QuantType.QInt8],
        [False, True],
        PRODUCTS,
    ),
)
def test_no_product_saturates_in_any_sample(
    form: QuantFormat, activation: QuantType, per_channel: bool, name: str
) -> None:
    """Quantized operators have no level at which they do not saturate: their pairs say what they should give."""
    source = PRODUCTS[name]
    shape = [dim.dim_value for dim in source.graph.input[0].type.tensor_type.shape.dim]
    generator = np.random.default_rng(7)
    feeds = [{"x": generator.uniform(-1, 1, shape).astype(np.float32)} for _ in range(4)]
    result = vitis.quantize_static(
        source,
        None,
        feeds,
        quant_format=form,
        calibrate_method=CalibrationMethod.MinMax,
        activation_type=activation,
        weight_type=QuantType.QInt8,
        per_channel=per_channel,
    )
    assert decibels(source, result.model, feeds) > 28
    assert result.report.fused["y"] == pytest.approx(decibels(source, result.model, feeds), abs=0.01)


@pytest.mark.option("AvoidSaturation")
def test_the_switch_keeps_eight_bits() -> None:
    assert largest_code(quantize(AvoidSaturation=False).model) == 127


def saturating(monkeypatch: pytest.MonkeyPatch, *, repaired: bool) -> None:
    """A CPU whose kernels lose 9 dB with weights of eight bits, and as much or nothing with seven."""

    def check(original: Any, quantized: ModelProto, feeds: Any, report: vitis.Report, **_: Any) -> None:
        is_repaired = repaired and largest_code(quantized) <= 64
        report.fused["y"] = 38.0 if is_repaired else 30.0
        if not is_repaired:
            report.integer_kernel_loss["y"] = 9.0

    monkeypatch.setattr(stages, "check_result", check)


def test_seven_bits_where_eight_saturate(monkeypatch: pytest.MonkeyPatch) -> None:
    saturating(monkeypatch, repaired=True)
    result = quantize()
    assert largest_code(result.model) == 64
    assert any("seven bits" in note for note in result.report.notes)
    assert result.report.integer_kernel_loss == {}


def test_eight_bits_where_seven_are_no_better(monkeypatch: pytest.MonkeyPatch) -> None:
    saturating(monkeypatch, repaired=False)
    result = quantize()
    assert largest_code(result.model) == 127
    assert any("loses 9 dB" in note for note in result.report.notes)


@pytest.mark.parametrize("options", [{"AvoidSaturation": False}, {"Target": "ipu_transformer"}])
def test_other_targets_keep_eight_bits_and_say_so(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    saturating(monkeypatch, repaired=True)
    result = quantize(**options)
    assert largest_code(result.model) == 127
    assert any("loses 9 dB" in note for note in result.report.notes)


def test_the_reader_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    saturating(monkeypatch, repaired=True)
    reads = []

    class Once:
        def get_next(self) -> Any:
            reads.append(len(reads))
            return FEEDS[reads[-1]] if reads[-1] < len(FEEDS) else None

    result = vitis.quantize_static(
        MODEL, None, Once(), calibrate_method=CalibrationMethod.MinMax, weight_type=QuantType.QInt8
    )
    assert largest_code(result.model) == 64
    assert reads == [*range(len(FEEDS) + 1)]


def test_limits_are_kept_beside_those_that_are_known() -> None:
    model = ModelProto()
    clip_metadata.keep(model, {})
    assert clip_metadata.kept(model) is None
    clip_metadata.keep(model, {"y": (0.0, 6.0)})
    clip_metadata.keep(model, {})
    clip_metadata.keep(model, {"z": (None, 1.0)})
    found = clip_metadata.kept(model)
    assert found is not None
    assert {name: tuple(limits) for name, limits in found.items()} == {"y": (0.0, 6.0), "z": (None, 1.0)}
