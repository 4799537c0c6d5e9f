"""Networks that are spoiled on purpose: the first advice names the place, and what it says recovers what was lost."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import AccuracyWarning, quantize_static
from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.pipeline import advice
from ort_vitis_plugin.report.report import Report
from ort_vitis_plugin.request.change import changed_keywords
from ort_vitis_plugin.testing import graph

pytestmark = [
    pytest.mark.filterwarnings("ignore::ort_vitis_plugin.errors.AccuracyWarning"),
    # Where the advice is another method, an option of the first one is left in the call, and is told.
    pytest.mark.filterwarnings("ignore::ort_vitis_plugin.options.options.OptionWarning"),
]
RECOVERED = 0.8
CPU: dict[str, Any] = {"activation_type": QuantType.QUInt8, "extra_options": {"Target": "cpu"}}
MIN_MAX: dict[str, Any] = {**CPU, "calibrate_method": CalibrationMethod.MinMax}
NPU: dict[str, Any] = {"extra_options": {"Preset": "ipu_cnn"}}
SAMPLES = 6

PLAIN = """t (float[1, 3, 8, 8] x) => (float[1, 6, 8, 8] y) {
  [c0] a = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)  [r0] r = Relu(a)
  [c1] b = Conv<pads = [1, 1, 1, 1]>(r, w1, b1)  [r1] s = Relu(b)
  [c2] y = Conv(s, w2, b2) }"""
DEPTHWISE = """t (float[1, 3, 8, 8] x) => (float[1, 6, 8, 8] y) {
  [c0] a = Conv(x, w0, b0)  [r0] r = Relu(a)
  [c1] b = Conv<pads = [1, 1, 1, 1], group = 6>(r, w1, b1)  [r1] s = Relu(b)
  [c2] y = Conv(s, w2, b2) }"""
DETECTOR = """t (float[1, 3, 8, 8] x) => (float[1, 7, 64] y) {
  [c0] a = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)  [r0] r = Relu(a)
  [c1] p = Conv(r, w1, b1)  q = Reshape(p, s4)  [m] boxes = Mul(q, k)
  [c2] t = Conv(r, w2, b2)  u = Reshape(t, s3)  [sg] scores = Sigmoid(u)
  [c] y = Concat<axis = 1>(boxes, scores) }"""
JOINED = """t (float[1, 3, 8, 8] x) => (float[1, 6, 8, 8] y) {
  [c0] a = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)  [l] g = Mul(a, k)  [c1] h = Conv(a, w1, b1)
  [j] v = Concat<axis = 1>(g, h)  [sl] p, q = Split<axis = 1>(v)  [u] z = Mul(p, j)  [c2] y = Add(z, q) }"""
SHIFTED = """t (float[1, 3, 8, 8] x) => (float[1, 6, 8, 8] y) {
  [c0] a = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)  [t] b = Tanh(a)  [s] s = Add(b, k)
  [back] d = Sub(s, k)  [c1] y = Conv(d, w1, b1) }"""


def constants(**changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found = {
        "w0": rng.normal(0, 0.3, (6, 3, 3, 3)),
        "w1": rng.normal(0, 0.3, (6, 6, 3, 3)),
        "w2": rng.normal(0, 0.3, (6, 6, 1, 1)),
        **{f"b{at}": rng.normal(0, 0.1, 6) for at in range(3)},
        **changes,
    }
    return {name: value if value.dtype.kind == "i" else value.astype(np.float32) for name, value in found.items()}


def feeds() -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [{"x": rng.standard_normal((1, 3, 8, 8)).astype(np.float32)} for _ in range(SAMPLES)]


class Spoiled(NamedTuple):
    """A call that gives a bad result; ``sound`` is the same network without the fault, or ``sound_call`` the same call.
    The first advice holds one of ``places``."""

    model: ModelProto
    call: dict[str, Any]
    places: tuple[str, ...]
    sound: ModelProto | None = None
    sound_call: dict[str, Any] | None = None


def with_options(call: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {**call, "extra_options": {**call["extra_options"], **options}}


def one_outlier_weight() -> Spoiled:
    weights = constants()["w1"].copy()
    weights[2, 3, 1, 1] = 300
    bias = constants()["b1"].copy()
    bias[2] = -3000  # the Relu behind it is closed: no activation shows the outlier
    spoilt = graph(PLAIN, constants=constants(w1=weights, b1=bias))
    return Spoiled(spoilt, MIN_MAX, ("w1", "tensor b", "tensor s"), graph(PLAIN, constants=constants()))


def one_clipped_range() -> Spoiled:
    model = graph(PLAIN, constants=constants())
    call = with_options(MIN_MAX, TensorQuantOverrides={"s": [{"rmin": 0.0, "rmax": 0.05}]})
    return Spoiled(model, call, ("override of s",), sound_call=MIN_MAX)


def percentile_too_small() -> Spoiled:
    model = graph(PLAIN, constants=constants())
    call = with_options(CPU, CalibPercentile=50.0) | {"calibrate_method": CalibrationMethod.Percentile}
    return Spoiled(model, call, ("tensor",), sound_call=MIN_MAX)


def activation_with_a_far_outlier() -> Spoiled:
    bias = constants()["b0"].copy()
    bias[4] = 3000  # one channel far above all others, which nobody reads
    weights = constants()["w1"].copy()
    weights[:, 4] = 0
    spoilt = graph(PLAIN, constants=constants(b0=bias, w1=weights))
    return Spoiled(spoilt, MIN_MAX, ("tensor r", "tensor a"), graph(PLAIN, constants=constants(w1=weights)))


def skewed_depthwise_pair() -> Spoiled:
    factors = 10.0 ** np.linspace(-2.5, 2.5, 6)
    base = constants(w0=np.random.default_rng(2).normal(0, 0.3, (6, 3, 1, 1)), w1=constants()["w1"][:, :1])
    skewed = dict(base)
    skewed["w0"] = (base["w0"] * factors[:, None, None, None]).astype(np.float32)
    skewed["b0"] = (base["b0"] * factors).astype(np.float32)
    skewed["w1"] = (base["w1"] / factors[:, None, None, None]).astype(np.float32)
    return Spoiled(graph(DEPTHWISE, constants=skewed), NPU, ("w0", "w1", "tensor r"), graph(DEPTHWISE, constants=base))


def wrong_scale() -> Spoiled:
    model = graph(PLAIN, constants=constants())
    wrong = {"scale": np.array(4.0, np.float32), "zero_point": np.array(0, np.uint8)}
    call = with_options(MIN_MAX, TensorQuantOverrides={"r": [wrong]})
    return Spoiled(model, call, ("override of r",), sound_call=MIN_MAX)


def simulation_that_hurts() -> Spoiled:
    small = constants(
        w1=constants()["w1"][:4, :, :1, :1],
        b1=np.full(4, 3.0),
        w2=constants()["w2"][:3] * 2,
        b2=np.full(3, -5.0),
        s4=np.array([1, 4, 64]),
        s3=np.array([1, 3, 64]),
        k=np.array(100.0),
    )
    model = graph(DETECTOR, constants=small)
    return Spoiled(model, NPU, ("ConvertSigmoidToHardSigmoid",), sound_call=with_options(NPU, SimulateDPU=False))


def weights_of_four_bits() -> Spoiled:
    wide = {name: constants()[name] ** 5 * 100 for name in ("w0", "w1", "w2")}
    model = graph(PLAIN, constants=constants(**wide))
    sound = with_options(MIN_MAX, UseQDQContribOps=True)
    return Spoiled(model, sound | {"weight_type": QuantType.QInt4}, ("w0", "w1", "w2"), sound_call=sound)


def a_concat_of_large_and_small() -> Spoiled:
    small = constants(w1=constants()["w1"][:, :, :1, :1], k=np.array(20000.0), j=np.array(1 / 20000))
    model = graph(JOINED, constants=small)
    return Spoiled(
        model, MIN_MAX, ("tensor v", "tensor q"), sound_call={**MIN_MAX, "nodes_to_exclude": ["j", "sl", "u"]}
    )


def a_small_signal_on_a_large_offset() -> Spoiled:
    model = graph(SHIFTED, constants=constants(w1=constants()["w1"][:, :, :1, :1], k=np.array(300.0)))
    return Spoiled(model, MIN_MAX, ("tensor s",), sound_call={**MIN_MAX, "nodes_to_exclude": ["s", "t", "back"]})


SPOILED: list[Callable[[], Spoiled]] = [
    one_outlier_weight,
    one_clipped_range,
    percentile_too_small,
    activation_with_a_far_outlier,
    skewed_depthwise_pair,
    wrong_scale,
    simulation_that_hurts,
    weights_of_four_bits,
    a_concat_of_large_and_small,
    a_small_signal_on_a_large_offset,
]


def report_of(model: ModelProto, call: dict[str, Any]) -> Report:
    """The same on every CPU: without VNNI a call would go on to weights of seven bits."""
    return quantize_static(model, None, feeds(), **with_options(call, AvoidSaturation=False)).report


def worst(report: Report) -> float:
    return report.verdict.judgements[0].decibels


@pytest.mark.parametrize("made", SPOILED, ids=lambda made: made.__name__)
def test_the_first_advice_names_the_place_and_recovers(made: Callable[[], Spoiled]) -> None:
    spoiled = made()
    before = report_of(spoiled.model, spoiled.call)
    quiet = with_options(spoiled.sound_call or spoiled.call, Attribution=False)
    sound = worst(report_of(spoiled.sound or spoiled.model, quiet))
    assert not before.verdict.is_good
    assert sound - worst(before) > 10
    advice = before.verdict.advice[0]
    assert any(place in advice.place for place in spoiled.places), advice
    after = worst(report_of(spoiled.model, changed_keywords(spoiled.call, advice.change)))
    assert after - worst(before) >= RECOVERED * (sound - worst(before)), (worst(before), after, sound, advice)
    assert after == pytest.approx(advice.after, abs=0.5)


@pytest.mark.parametrize(("seconds", "most"), [(1.0, None), (40.0, 2), (1000.0, 1)])
def test_trials_of_a_call_that_takes_long_are_few(
    seconds: float, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial costs what a call does; however slow, it is one, and beyond a minute none follows."""
    now, tried = [0.0], [0]

    def trial(*_: object) -> None:
        now[0] += seconds
        tried[0] += 1

    monkeypatch.setattr(advice, "_worst_after", trial)
    monkeypatch.setattr(advice.time, "perf_counter", lambda: now[0])
    spoiled = percentile_too_small()
    report_of(spoiled.model, spoiled.call)
    assert tried[0] == most if most else tried[0] >= advice.TRIALS


def test_without_attribution_nothing_is_tried() -> None:
    spoiled = wrong_scale()
    report = report_of(spoiled.model, with_options(spoiled.call, Attribution=False))
    assert not report.verdict.is_good
    assert report.verdict.advice == []


def test_a_good_result_gets_no_advice() -> None:
    report = report_of(graph(PLAIN, constants=constants()), MIN_MAX)
    assert report.verdict.is_good
    assert report.verdict.advice == []


def test_a_warning_tells_the_way_out() -> None:
    spoiled = wrong_scale()
    with pytest.warns(AccuracyWarning, match="override of r .* costs most; extra_options="):
        report_of(spoiled.model, spoiled.call)


def test_the_verdict_names_parts_and_stages_worst_first() -> None:
    spoiled = simulation_that_hurts()
    report = report_of(spoiled.model, with_options(spoiled.call, Attribution=False))
    names = [each.name for each in report.verdict.judgements]
    assert names[0] == "y[:, 4:7]"
    assert set(names) == {"y", "y[:, 0:4]", "y[:, 4:7]"}
    scores = report.verdict.judgements[0]
    assert set(scores.sqnr) == {"simulated", "quantized"}
    assert scores.worst_stage() == "simulated"
    assert report.verdict.judgements[1].decibels > 25, "the boxes hide it"
    told = report.as_dict()["verdict"]
    assert told["good"] is False
    assert told["judgements"][0]["sqnr"]["simulated"] == pytest.approx(scores.sqnr["simulated"])


def test_what_cannot_be_measured_costs_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ModelError("onnxruntime cannot load the float model")

    monkeypatch.setattr("ort_vitis_plugin.pipeline.pipeline.advise", refuse)
    spoiled = wrong_scale()
    report = report_of(spoiled.model, spoiled.call)
    assert "no advice: onnxruntime cannot load the float model" in report.notes
    assert report.verdict.advice == []
