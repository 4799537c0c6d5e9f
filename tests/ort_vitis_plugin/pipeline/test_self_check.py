"""What default sessions compute otherwise than the file says, or do not load, the report tells with what helps."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto

from ort_vitis_plugin import CalibrationMethod, QuantType, VitisQuantFormat, VitisQuantType, custom_ops, quantize_static
from ort_vitis_plugin.errors import SelfCheckError
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.pipeline import self_check
from ort_vitis_plugin.testing import graph

RNG = np.random.default_rng(0)
WEIGHTS = {name: (RNG.standard_normal((64, 64)) * 0.1).astype(np.float32) for name in ("w", "k")}
FEEDS = [{"x": RNG.standard_normal((8, 64)).astype(np.float32)}]
A16W8 = {
    "calibrate_method": CalibrationMethod.MinMax,
    "activation_type": QuantType.QUInt16,
    "weight_type": QuantType.QInt8,
    "per_channel": True,
}


def network() -> ModelProto:
    body = "h = MatMul(x, w) r = Relu(h) y = MatMul(r, k)"
    return graph(f"t (float[8, 64] x) => (float[8, 64] y) {{ {body} }}", 21, WEIGHTS)


def measured(model: ModelProto, **entries: str) -> float:
    """SQNR in a session of onnxruntime's defaults and these entries."""
    options = ort.SessionOptions()
    custom_ops.register(options)
    for key, value in entries.items():
        options.add_session_config_entry(f"session.{key}", value)
    (q,) = ort.InferenceSession(model.SerializeToString(), options).run(None, FEEDS[0])
    (f,) = ort.InferenceSession(network().SerializeToString()).run(None, FEEDS[0])
    return sqnr_db(f, q)


def packs() -> bool:
    """Whether this onnxruntime loses anything."""
    model = quantize_static(network(), None, FEEDS, extra_options={"SelfCheck": False}, **A16W8).model
    return measured(model) < measured(model, qdq_matmulnbits_accuracy_level="0") - 0.5


def test_both_are_measured_and_told() -> None:
    if not packs():
        pytest.skip("this onnxruntime packs no such product, or loses nothing by it")
    result = quantize_static(network(), None, FEEDS, **A16W8)
    (note,) = (note for note in result.report.notes if "MatMulNBits" in note)
    default, kept = measured(result.model), measured(result.model, qdq_matmulnbits_accuracy_level="0")
    assert f"{default:.1f} dB in default sessions" in note
    assert f"{kept:.1f} dB with" in note
    assert result.report.fused["y"] == pytest.approx(default, abs=0.1)
    assert result.report.sqnr["y"] == pytest.approx(kept, abs=0.1)
    assert result.report.integer_kernel_loss == {}


OTHERS: dict[str, dict[str, Any]] = {
    "8 bits": {"activation_type": QuantType.QUInt8},
    "the Vitis format": {
        "quant_format": VitisQuantFormat.QDQ,
        "activation_type": VitisQuantType.QUInt16,
        "weight_type": QuantType.QInt8,
    },
}


@pytest.mark.parametrize("case", OTHERS)
def test_others_lose_nothing_there(case: str) -> None:
    result = quantize_static(network(), None, FEEDS, **{**A16W8, **OTHERS[case]})
    assert not any("MatMulNBits" in note for note in result.report.notes)


def test_float8_that_default_sessions_take_for_bytes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime 1.20.1 makes operators for bytes of such pairs, and does not load them."""
    opened = self_check.open_session

    def refusing(model: ModelProto, libraries: Any, level: Any = self_check.FAITHFUL, **how: Any) -> Any:
        if level != self_check.FAITHFUL and not how.get("keep_pairs"):
            raise RuntimeError("Type 'tensor(float8e4m3fn)' of input parameter")
        return opened(model, libraries, level, **how)

    monkeypatch.setattr(self_check, "open_session", refusing)
    float8 = {"activation_type": QuantType.QFLOAT8E4M3FN, "weight_type": QuantType.QFLOAT8E4M3FN}
    report = quantize_static(network(), None, FEEDS, calibrate_method=CalibrationMethod.MinMax, **float8).report
    assert report.fused == report.sqnr
    assert [note for note in report.notes if "session.disable_quant_qdq" in note]
    with pytest.raises(SelfCheckError, match="cannot load"):
        quantize_static(network(), None, FEEDS, **A16W8)


def test_float8_that_loads_is_not_spoken_of() -> None:
    float8 = {"activation_type": QuantType.QFLOAT8E4M3FN, "weight_type": QuantType.QFLOAT8E4M3FN}
    result = quantize_static(network(), None, FEEDS, calibrate_method=CalibrationMethod.MinMax, **float8)
    told = any("session.disable_quant_qdq" in note for note in result.report.notes)
    try:
        ort.InferenceSession(result.model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:
        assert told
    else:
        assert not told


def test_the_steps_at_which_a_part_lost_most_are_named() -> None:
    body = "h = MatMul(x, w) b = Add(h, c) s = Sigmoid(b) y = MatMul(s, k)"
    shifted = WEIGHTS | {"c": np.full(64, -3, np.float32)}
    model = graph(f"t (float[8, 64] x) => (float[8, 64] y) {{ {body} }}", 17, shifted)
    options = {"Target": "ipu_cnn", "Recipe": "plain"}
    worst = quantize_static(model, None, FEEDS, enable_dpu=True, extra_options=options).report.verdict.judgements[0]
    assert worst.sqnr["simulated"] < worst.decibels + 3 < 20 + 3
    assert worst.steps[0] == "ConvertSigmoidToHardSigmoid"
    off = options | {"ConvertSigmoidToHardSigmoid": False}
    float_sigmoid = quantize_static(model, None, FEEDS, enable_dpu=True, extra_options=off).report.verdict
    assert float_sigmoid.judgements[0].steps == ()
