"""Float-scale methods on exact sketches: the same meaning as onnxruntime's, in one pass and bounded memory."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping

from ort_vitis_plugin.api import CalibrationMethod, Configuration, OrtOptions, RangeMethod, Sketch, TensorFacts

Range = tuple[float, float]


def _symmetric(limits: Range) -> Range:
    reach = max(abs(limits[0]), abs(limits[1]))
    return -reach, reach


class MovingAverage:
    """Extremes that move by ``constant`` towards each new sample's: a + c (x - a)."""

    def __init__(self, constant: float) -> None:
        self.constant = constant
        self.limits: dict[str, Range] = {}

    def observe(self, sketches: Mapping[str, Sketch]) -> None:
        for name, sketch in sketches.items():
            if not sketch.count:
                continue
            low, high = sketch.minimum, sketch.maximum
            if name in self.limits:
                before = self.limits[name]
                low = before[0] + self.constant * (low - before[0])
                high = before[1] + self.constant * (high - before[1])
            self.limits[name] = (low, high)


def moving_average(settings: Configuration) -> MovingAverage | None:
    """What averages the extremes of the samples, for CalibMovingAverage."""
    if not settings.options[OrtOptions].calib_moving_average:
        return None
    return MovingAverage(float(settings.options[OrtOptions].calib_moving_average_constant))


def min_max(sketch: Sketch, tensor: TensorFacts) -> Range:
    """The least and greatest value over all samples, or their moving average."""
    limits = (sketch.minimum, sketch.maximum)
    if isinstance(tensor.collected, MovingAverage):
        limits = tensor.collected.limits.get(tensor.name, limits)
    return _symmetric(limits) if tensor.configuration.options[OrtOptions].calib_tensor_range_symmetric else limits


def entropy(sketch: Sketch, tensor: TensorFacts) -> Range:
    """The threshold of least Kullback-Leibler divergence, 2048 bins against 128."""
    limits = sketch.entropy_range()
    return _symmetric(limits) if tensor.configuration.options[OrtOptions].calib_tensor_range_symmetric else limits


def percentile(sketch: Sketch, tensor: TensorFacts) -> Range:
    """The range of CalibPercentile percent of the values, of magnitudes if symmetric (onnxruntime's default here)."""
    options = tensor.configuration.options
    q = options[OrtOptions].calib_percentile
    symmetric = options[OrtOptions].calib_tensor_range_symmetric or not options.given("CalibTensorRangeSymmetric")
    low, high = sketch.percentile(99.999 if q is None else float(q), absolute=bool(symmetric))
    return max(low, sketch.minimum), min(high, sketch.maximum)


def distribution(sketch: Sketch, tensor: TensorFacts) -> Range:
    """Three standard deviations around the mean, within the extremes."""
    spread = 3 * sketch.deviation
    return max(sketch.mean - spread, sketch.minimum), min(sketch.mean + spread, sketch.maximum)


MIN_MAX = RangeMethod(CalibrationMethod.MinMax, "Range from the least to the greatest value.", min_max, moving_average)
ENTROPY = RangeMethod(CalibrationMethod.Entropy, "Range of least Kullback-Leibler divergence.", entropy)
PERCENTILE = RangeMethod(CalibrationMethod.Percentile, "Range that holds CalibPercentile percent.", percentile)
DISTRIBUTION = RangeMethod(CalibrationMethod.Distribution, "Range of three standard deviations.", distribution)
