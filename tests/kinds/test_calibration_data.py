"""Samples as people have them: readers of every kind, ragged, empty, not finite, of other sizes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType

from ort_vitis_plugin import PowerOfTwoMethod
from ort_vitis_plugin.errors import CalibrationError, OptionError, UnsupportedError

from .checks import Feed, assert_close, constants_of, model, quantized, samples, scale_of, weights

METHODS = [*CalibrationMethod, PowerOfTwoMethod.NonOverflow, PowerOfTwoMethod.MinMSE]
SYMMETRIC = {"ActivationSymmetric": True}


def conv() -> ModelProto:
    return model(
        "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { h = Conv(x, w, b) y = Relu(h) }",
        {"w": weights(1, 4, 3, 3, 3), "b": weights(2, 4)},
    )


def free() -> ModelProto:
    return model("t (float[n, 4] x) => (float[n, 5] y) { h = MatMul(x, w) y = Relu(h) }", {"w": weights(1, 4, 5)})


def scales(result: Any) -> dict[str, Any]:
    return {name: value for name, value in constants_of(result).items() if name.endswith("_scale")}


class Rewinding(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, feeds: list[Feed]) -> None:
        self.feeds = feeds
        self.rewind()

    def rewind(self) -> None:
        self.rest = iter(self.feeds)

    def get_next(self) -> Any:
        return next(self.rest, None)


class OnlyNext:
    def __init__(self, feeds: list[Feed]) -> None:
        self.rest = iter(feeds)

    def get_next(self) -> Any:
        return next(self.rest, None)


class EmptyDictAtTheEnd(OnlyNext):
    def get_next(self) -> Any:
        return next(self.rest, {})


class Strided(Rewinding):
    """Has a length and set_range, as onnxruntime's strided calibration wants."""

    def __len__(self) -> int:
        return len(self.feeds)

    def set_range(self, start_index: int, end_index: int) -> None:
        self.rest = iter(self.feeds[start_index:end_index])


class _Indexed:
    def __init__(self, feeds: list[Feed]) -> None:
        self.feeds = feeds

    def __len__(self) -> int:
        return len(self.feeds)

    def __getitem__(self, at: int) -> Feed:
        assert 0 <= at < len(self.feeds)
        return self.feeds[at]


def _generator(feeds: list[Feed]) -> Iterator[Feed]:
    yield from feeds


READERS: dict[str, Callable[[list[Feed]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": _generator,
    "iterator": iter,
    "reader": Rewinding,
    "only get_next": OnlyNext,
    "an empty dict at the end": EmptyDictAtTheEnd,
    "with a length": Strided,
    "an index and a length": lambda feeds: _Indexed(feeds),
    "a function that makes one": lambda feeds: lambda: OnlyNext(feeds),
    "a class": lambda feeds: type("Made", (OnlyNext,), {"__init__": lambda self: OnlyNext.__init__(self, feeds)}),
    "used once before": lambda feeds: _used(Rewinding(feeds)),
}


def _used(reader: Rewinding) -> Rewinding:
    reader.get_next()
    reader.rewind()
    return reader


@pytest.mark.parametrize("name", READERS)
def test_readers_give_the_same_result(name: str) -> None:
    source = conv()
    feeds = samples(source)
    expected = quantized(source, feeds).model.SerializeToString(deterministic=True)
    assert quantized(source, READERS[name](feeds)).model.SerializeToString(deterministic=True) == expected


@pytest.mark.parametrize("option", ["CalibStridedMinMax", "CalibMaxIntermediateOutputs"])
@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_steps_that_do_not_divide_the_samples(option: str, step: int) -> None:
    """Every sample counts, the last and shorter stride and the first one too."""
    source = conv()
    feeds = [{"x": np.full((1, 3, 6, 6), value, np.float32)} for value in (8.0, 1.0, 0.5, 0.1, 0.2)]
    result = quantized(source, Strided(feeds), extra_options={option: step})
    assert float(scales(result)["x_scale"]) == pytest.approx(8 / 255, rel=1e-5)


def test_samples_are_not_changed() -> None:
    feeds = samples(conv())
    before = [{name: array.copy() for name, array in feed.items()} for feed in feeds]
    quantized(conv(), feeds)
    for feed, copy in zip(feeds, before, strict=True):
        assert list(feed) == list(copy)
        np.testing.assert_array_equal(feed["x"], copy["x"])


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_samples_of_different_shapes(method: Any) -> None:
    source = free()
    random = np.random.default_rng(0)
    feeds = [{"x": random.uniform(-1, 1, (rows, 4)).astype(np.float32)} for rows in (2, 5, 3, 16, 1)]
    result = quantized(source, feeds, calibrate_method=method)
    assert_close(source, result, 12, feeds)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_tensor_that_is_empty_in_every_sample(method: Any) -> None:
    source = model(
        """t (float[1, 2, 4] x, float[1, p, 5] past) => (float[1, q, 5] y)
        { h = MatMul(x, w) y = Concat<axis = 1>(past, h) }""",
        {"w": weights(1, 4, 5)},
    )
    feeds = [{"x": feed["x"], "past": np.zeros((1, 0, 5), np.float32)} for feed in samples(source)]
    result = quantized(source, feeds, calibrate_method=method)
    assert_close(source, result, 12, feeds)


def test_a_cache_that_is_empty_only_at_first() -> None:
    source = model(
        """t (float[1, 2, 4] x, float[1, p, 5] past) => (float[1, q, 5] y)
        { h = MatMul(x, w) y = Concat<axis = 1>(past, h) }""",
        {"w": weights(1, 4, 5)},
    )
    feeds = samples(source, free=3)
    feeds[0]["past"] = np.zeros((1, 0, 5), np.float32)
    assert_close(source, quantized(source, feeds), 25, feeds)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf], ids=str)
def test_what_is_not_finite_is_left_out_and_reported(method: Any, bad: float) -> None:
    source = conv()
    feeds = samples(source)
    clean = [{"x": feed["x"].copy()} for feed in feeds]
    feeds[1]["x"][0, 0, 0, 0] = bad
    result = quantized(source, feeds, calibrate_method=method)
    assert all(np.isfinite(scale).all() and (scale > 0).all() for scale in scales(result).values())
    assert_close(source, result, 15, clean)
    assert any("x in sample 1" in where for where in result.report.non_finite)


def test_the_first_value_that_is_not_finite_may_be_an_error() -> None:
    feeds = samples(conv())
    feeds[2]["x"][0, 0, 0, 0] = np.nan
    with pytest.raises(CalibrationError, match=r"sample 2 puts 1 NaN .* x"):
        quantized(conv(), feeds, extra_options={"NonFiniteSamples": "error"})


def test_a_tensor_without_any_finite_value_is_named() -> None:
    source = model(
        """t (float[1, 4] x) => (float[1, 4] y, float[1, 4] z)
        { h = MatMul(x, w) n = Sub(h, h) q = Div(n, n) m = Mul(q, two) z = Identity(m) y = Relu(h) }""",
        {"w": weights(1, 4, 4), "two": 2.0},
    )
    with pytest.raises(CalibrationError, match=r"\b(q|m|z)\b"):
        quantized(source)


def test_what_is_left_float_may_be_anything() -> None:
    source = model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y, float[1, 1, 6, 6] z)
        { [good] h = Conv(x, w) y = Relu(h) [div] d = Div(x, zero) [bad] z = Conv(d, v) }""",
        {"w": weights(1, 4, 3, 3, 3), "v": weights(2, 1, 3, 1, 1), "zero": 0.0},
    )
    result = quantized(source, op_types_to_quantize=["Conv", "Relu"], nodes_to_exclude=["bad"])
    assert_close(source, result, 20, outputs=["y"])


@pytest.mark.parametrize("factor", [1e-30, 1e-12, 1e-4, 1e4, 1e12, 1e20], ids=str)
@pytest.mark.parametrize("method", [CalibrationMethod.MinMax, PowerOfTwoMethod.MinMSE], ids=str)
def test_tiny_and_huge_values(factor: float, method: Any) -> None:
    source = model("t (float[1, 64] x) => (float[1, 64] y) { y = Mul(x, k) }", {"k": 1.0})
    feeds = [{"x": feed["x"] * np.float32(factor)} for feed in samples(source)]
    result = quantized(source, feeds, calibrate_method=method, extra_options=SYMMETRIC)
    assert_close(source, result, 30, feeds)


def test_one_outlier_does_not_coarsen_a_percentile() -> None:
    random = np.random.default_rng(0)
    feeds = [{"x": random.standard_normal((1, 20000)).astype(np.float32)} for _ in range(4)]
    feeds[0]["x"][0, 0] = 1000.0
    source = model("t (float[1, 20000] x) => (float[1, 20000] y) { y = Mul(x, k) }", {"k": 1.0})
    options = {"CalibPercentile": 99.99}
    result = quantized(source, feeds, calibrate_method=CalibrationMethod.Percentile, extra_options=options)
    assert 3 < float(scales(result)["x_scale"]) * 127 < 10


def test_a_moving_average_moves_by_its_constant() -> None:
    feeds = [{"x": np.full((1, 4), value, np.float32)} for value in (1.0, 1.0, 1.0, 101.0)]
    source = model("t (float[1, 4] x) => (float[1, 4] y) { y = Mul(x, k) }", {"k": 1.0})
    options = {"CalibMovingAverage": True, "CalibMovingAverageConstant": 0.01}
    result = quantized(source, feeds, extra_options=options)
    assert float(scale_of(result, "x_DequantizeLinear_Output")) * 255 == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("method", [CalibrationMethod.MinMax, PowerOfTwoMethod.MinMSE], ids=str)
def test_what_samples_decide_apart_holds_for_the_input_of_a_relu_too(method: Any) -> None:
    """It takes the range of the output, averaged or voted for like that one."""
    source = model(
        "t (float[1, 64] x) => (float[1, 64] y) { h = MatMul(x, w) y = Relu(h) }", {"w": np.eye(64, dtype=np.float32)}
    )
    feeds = [
        {"x": feed["x"] * np.float32(size)} for feed, size in zip(samples(source, 5), (1, 1, 1, 1, 300), strict=True)
    ]
    options = {
        **SYMMETRIC,
        "MinMSEMode": "MostCommon",
        "CalibMovingAverage": True,
        "CalibMovingAverageConstant": 0.01,
        "QDQKeepRemovableActivations": True,
    }
    result = quantized(source, feeds, calibrate_method=method, activation_type=QuantType.QInt8, extra_options=options)
    before = scale_of(result, "h_DequantizeLinear_Output")
    assert float(before) == float(scale_of(result, "y")) < 8 / 127


@pytest.mark.parametrize("percentile", [-1, 100.1, 9999])
def test_a_percentile_that_is_none_is_refused_by_name(percentile: float) -> None:
    source = model("t (float[1, 8] x) => (float[1, 8] y) { y = Relu(x) }")
    with pytest.raises(OptionError, match=f"CalibPercentile={percentile}"):
        quantized(source, calibrate_method=CalibrationMethod.Percentile, extra_options={"CalibPercentile": percentile})


@pytest.mark.parametrize("argument", ["activation_type", "weight_type"])
def test_a_type_that_is_none_is_refused_with_its_argument(argument: str) -> None:
    source = model("t (float[1, 8] x) => (float[1, 8] y) { y = Relu(x) }")
    with pytest.raises(UnsupportedError, match=f"{argument}: 'int8' is not a quantization type"):
        quantized(source, **{argument: "int8"})


def test_a_reader_may_fill_the_same_array_anew() -> None:
    source = model("t (float[1, 8] x) => (float[1, 6] y) { y = MatMul(x, w) }", {"w": weights(1, 8, 6)})
    arrays = [feed["x"] * (1 + at) for at, feed in enumerate(samples(source, 6))]

    class Refilling:
        def __init__(self) -> None:
            self.at, self.array = 0, np.empty_like(arrays[0])

        def get_next(self) -> Any:
            if self.at == len(arrays):
                return None
            self.array[...] = arrays[self.at]
            self.at += 1
            return {"x": self.array}

    options = {"BiasCorrection": True}
    refilled = quantized(source, Refilling(), extra_options=options)
    fresh = quantized(source, [{"x": array} for array in arrays], extra_options=options)
    assert refilled.model.SerializeToString() == fresh.model.SerializeToString()
    assert refilled.report.sqnr == fresh.report.sqnr
