"""Where our calibration gives what onnxruntime's calibrators give, and where it does better: README's table."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType
from onnxruntime.quantization.calibrate import create_calibrator

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import Role, TensorFacts, hookimpl
from ort_vitis_plugin.entry.attach import original
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import graph

Range = tuple[float, float]
Feeds = list[dict[str, np.ndarray]]
MinMax, Entropy, Percentile, Distribution = CalibrationMethod


def network() -> ModelProto:
    return graph(
        """t (float[n, 64] x) => (float[n, 32] y) { h = MatMul(x, w) r = Relu(h) t = Tanh(r) y = MatMul(t, v) }""",
        constants={name: _normal(seed, *shape) for name, seed, shape in (("w", 1, (64, 48)), ("v", 2, (48, 32)))},
    )


def one_tensor() -> ModelProto:
    return graph("t (float[n] x) => (float[n] y) { y = Mul(x, k) }", constants={"k": np.ones(1, np.float32)})


def _normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def feeds(*rows: int, seed: int = 0) -> Feeds:
    return [{"x": _normal(seed + number, count, 64)} for number, count in enumerate(rows)]


def whole(values: Any, parts: int = 4) -> Feeds:
    return [{"x": np.asarray(part, np.float32)} for part in np.array_split(np.asarray(values), parts)]


class Reader(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, samples: Feeds) -> None:
        self.samples = samples
        self.rest = iter(samples)

    def __len__(self) -> int:
        return len(self.samples)

    def set_range(self, start_index: int, end_index: int) -> None:
        self.rest = iter(self.samples[start_index:end_index])

    def get_next(self) -> Any:
        return next(self.rest, None)


def theirs(
    folder: Path, model: ModelProto, samples: Feeds, method: CalibrationMethod, stride: int = 0, **options: Any
) -> dict[str, Range]:
    path = folder / "float.onnx"
    onnx.save(model, str(path))
    calibrator = original(create_calibrator)(
        path, None, str(folder / "augmented.onnx"), calibrate_method=method, extra_options=options
    )
    for start in range(0, len(samples), stride or len(samples)):
        calibrator.collect_data(Reader(samples[start : start + (stride or len(samples))]))
    found = calibrator.compute_data()
    return {name: (float(np.ravel(data.lowest)[0]), float(np.ravel(data.highest)[0])) for name, data in found.items()}


class _Watch:
    """The range that the method takes from the statistics of every tensor."""

    def __init__(self) -> None:
        self.ranges: dict[str, Range] = {}

    @hookimpl
    def vitis_stage_done(self, stage: str, context: Any, value: Any) -> None:
        if stage == "calibrate":
            for name, sketch in value.items():
                self.ranges[name] = context.method.range_of(
                    sketch, TensorFacts(name, Role.ACTIVATION, context, value.collected)
                )


def ours(
    model: ModelProto,
    samples: Any,
    method: CalibrationMethod,
    activation_type: QuantType = QuantType.QInt8,
    **options: Any,
) -> dict[str, Range]:
    manager, watch = new_manager(entry_points=False), _Watch()
    manager.register(watch)
    given = {"activation_type": activation_type, "extra_options": {"SelfCheck": False, **options}}
    quantize_static(model, None, samples, calibrate_method=method, plugins=manager, **given)
    return watch.ranges


def loss(values: np.ndarray, limits: Range) -> float:
    """Squared error of 255 even steps over the range."""
    low, high = limits
    step = (high - low) / 255
    return float(np.square(values - (np.clip(np.rint((values - low) / step), 0, 255) * step + low)).sum())


HEAVY = {
    "one outlier": np.append(_normal(3, 199_999), np.float32(80)),
    "student": np.random.default_rng(4).standard_t(2, 200_000).astype(np.float32),
    "laplace": np.random.default_rng(5).laplace(0, 1, 200_000).astype(np.float32),
}


# ---------------------------------------------------------------------- MinMax


@pytest.mark.parametrize("symmetric", [False, True])
def test_minmax_is_equal_to_the_bit(symmetric: bool, tmp_path: Path) -> None:
    samples = feeds(3, 3, 3, 3)
    mine = ours(network(), samples, MinMax, CalibTensorRangeSymmetric=symmetric)
    upstream = theirs(tmp_path, network(), samples, MinMax, symmetric=symmetric)
    assert {"x", "r", "t", "y"} <= mine.keys()
    assert mine.items() <= upstream.items()


def test_minmax_with_a_moving_average_is_equal_sample_by_sample(tmp_path: Path) -> None:
    """onnxruntime averages between calls of collect_data (CalibStridedMinMax=1); in one call it takes the mean."""
    samples = feeds(3, 3, 3, 3)
    options = {"CalibMovingAverage": True, "CalibMovingAverageConstant": 0.25}
    mine = ours(network(), samples, MinMax, **options)
    given = {"moving_average": True, "averaging_constant": 0.25}
    upstream = theirs(tmp_path, network(), samples, MinMax, stride=1, **given)
    for name, limits in mine.items():
        assert limits == pytest.approx(upstream[name], rel=1e-6)
    in_one_call = theirs(tmp_path, network(), samples, MinMax, **given)
    assert in_one_call["x"][1] == pytest.approx(np.mean([feed["x"].max() for feed in samples]), rel=1e-6)


def test_minmax_forgets_no_sample_and_leaves_out_what_is_not_finite(tmp_path: Path) -> None:
    samples = whole([9, -9, 1, 2, 3, 4, 5, 6], 8)
    assert ours(one_tensor(), samples, MinMax, CalibMaxIntermediateOutputs=3)["x"] == (-9, 9)
    assert theirs(tmp_path, one_tensor(), samples, MinMax, max_intermediate_outputs=3)["x"] == (5, 6)
    spoiled = [*samples, {"x": np.array([np.inf], np.float32)}]
    assert ours(one_tensor(), spoiled, MinMax)["x"] == (-9, 9)
    assert theirs(tmp_path, one_tensor(), spoiled, MinMax)["x"] == (-9, np.inf)


# ---------------------------------------------------------------------- Percentile


@pytest.mark.parametrize("name", HEAVY)
def test_percentile_lies_within_two_of_onnxruntimes_bins_and_nearer_to_the_values(name: str, tmp_path: Path) -> None:
    """The same meaning; onnxruntime's 2048 bins are as wide as the greatest outlier makes them."""
    values = HEAVY[name]
    reach = float(np.abs(values).max())
    for percentile in (99.0, 99.9, 99.99):
        exact = float(np.percentile(np.abs(values), percentile))
        mine = ours(one_tensor(), whole(values), Percentile, CalibPercentile=percentile)["x"][1]
        upstream = theirs(tmp_path, one_tensor(), whole(values), Percentile, symmetric=True, percentile=percentile)
        assert abs(mine - upstream["x"][1]) <= 2 * 2 * reach / 2048 + 2e-3 * exact
        assert mine == pytest.approx(exact, rel=2e-3)
        assert abs(mine - exact) <= abs(upstream["x"][1] - exact) + 2e-3 * exact


def test_percentile_of_both_sides(tmp_path: Path) -> None:
    values = np.concatenate([HEAVY["laplace"], np.abs(HEAVY["student"])])
    options = {"CalibPercentile": 99.0, "CalibTensorRangeSymmetric": False}
    mine = ours(one_tensor(), whole(values), Percentile, **options)["x"]
    upstream = theirs(tmp_path, one_tensor(), whole(values), Percentile, symmetric=False, percentile=99.0)["x"]
    exact = np.percentile(values, [0.5, 99.5])
    assert mine == pytest.approx(tuple(exact), rel=5e-3)
    width = (values.max() - values.min()) / 2048
    assert np.abs(np.subtract(mine, upstream)).max() <= 2 * width


def test_percentile_takes_constant_tensors_and_a_ragged_last_batch(tmp_path: Path) -> None:
    constant = whole(np.full(64, 0.02))
    assert ours(one_tensor(), constant, Percentile)["x"] == pytest.approx((0.02, 0.02))
    ragged = feeds(3, 3, 2)
    assert ours(network(), ragged, Percentile)["y"][1] > 0
    with pytest.raises(ValueError, match=r"inhomogeneous"):
        theirs(tmp_path, network(), ragged, Percentile, symmetric=True)


# ---------------------------------------------------------------------- Entropy


@pytest.mark.parametrize("name", HEAVY)
def test_entropy_clips_where_it_saves_error(name: str, tmp_path: Path) -> None:
    """onnxruntime has one candidate with its default of 128 bins: the whole range."""
    values = HEAVY[name]
    extremes = float(values.min()), float(values.max())
    assert theirs(tmp_path, one_tensor(), whole(values), Entropy)["x"] == pytest.approx(extremes)
    mine = ours(one_tensor(), whole(values), Entropy)["x"]
    assert extremes[0] <= mine[0] <= mine[1] <= extremes[1]
    assert loss(values, mine) <= loss(values, extremes) * 1.01
    assert (mine[1] - mine[0] < extremes[1] - extremes[0]) is (name == "laplace")


def test_entropy_clips_no_floats_of_few_bits() -> None:
    """Their steps shrink with the values; onnxruntime takes no float8 with Entropy."""
    values = HEAVY["laplace"]
    mine = ours(one_tensor(), whole(values), Entropy, activation_type=QuantType.QFLOAT8E4M3FN)["x"]
    assert mine == (float(values.min()), float(values.max()))


CHAINS = {
    "products": "a = MatMul(x, p) b = MatMul(a, q) y = MatMul(b, r)",
    "products and Relu": "a = MatMul(x, p) s = Relu(a) b = MatMul(s, q) t = Relu(b) y = MatMul(t, r)",
    "residual": "a = MatMul(x, p) s = Relu(a) b = MatMul(s, q) c = Add(b, x) y = MatMul(c, r)",
}


@pytest.mark.parametrize("kind", [QuantType.QInt8, QuantType.QUInt8])
@pytest.mark.parametrize("method", [Entropy, Distribution])
@pytest.mark.parametrize("name", CHAINS)
def test_no_method_loses_much_against_the_whole_range(name: str, method: CalibrationMethod, kind: QuantType) -> None:
    constants = {each: _normal(seed, 64, 64) / 6 for seed, each in enumerate("pqr")}
    model = graph(f"t (float[n, 64] x) => (float[n, 64] y) {{ {CHAINS[name]} }}", constants=constants)
    found = [
        quantize_static(model, None, feeds(*[8] * 8), calibrate_method=each, activation_type=kind).report.sqnr["y"]
        for each in (method, MinMax)
    ]
    assert found[0] >= found[1] - 1.0


def test_entropy_takes_a_ragged_last_batch(tmp_path: Path) -> None:
    ragged = feeds(3, 3, 2)
    assert ours(network(), ragged, Entropy)["y"][1] > 0
    with pytest.raises(ValueError, match=r"inhomogeneous"):
        theirs(tmp_path, network(), ragged, Entropy)


# ---------------------------------------------------------------------- Distribution


@pytest.mark.parametrize("kind", [QuantType.QInt8, QuantType.QFLOAT8E4M3FN])
@pytest.mark.parametrize("name", HEAVY)
def test_distribution_is_the_whole_range(name: str, kind: QuantType, tmp_path: Path) -> None:
    """Of floats of few bits too, for which onnxruntime's scale follows the deviation (methods.md compares them)."""
    values = HEAVY[name]
    upstream = theirs(tmp_path, one_tensor(), whole(values), Distribution)["x"]
    assert max(map(abs, upstream)) == pytest.approx(float(np.abs(values).max()))
    mine = ours(one_tensor(), whole(values), Distribution, activation_type=kind)["x"]
    assert mine == (float(values.min()), float(values.max()))
