"""Float-scale methods on exact sketches: the same meaning as onnxruntime's, in one pass and bounded memory."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ort_vitis_plugin.api import CalibrationMethod, Calibrator, Configuration, Sketch

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
    if not settings.options["CalibMovingAverage"]:
        return None
    return MovingAverage(float(settings.options["CalibMovingAverageConstant"]))


def min_max(sketch: Sketch, name: str, settings: Configuration, collected: Any) -> Range:
    """The least and greatest value over all samples, or their moving average."""
    limits = (sketch.minimum, sketch.maximum)
    if isinstance(collected, MovingAverage):
        limits = collected.limits.get(name, limits)
    return _symmetric(limits) if settings.options["CalibTensorRangeSymmetric"] else limits


def entropy(sketch: Sketch, name: str, settings: Configuration, collected: Any) -> Range:
    """The threshold of least Kullback-Leibler divergence, 2048 bins against 128."""
    limits = sketch.entropy_range()
    return _symmetric(limits) if settings.options["CalibTensorRangeSymmetric"] else limits


def percentile(sketch: Sketch, name: str, settings: Configuration, collected: Any) -> Range:
    """The range of CalibPercentile percent of the values, of magnitudes if symmetric (onnxruntime's default here)."""
    q = settings.options["CalibPercentile"]
    symmetric = settings.options["CalibTensorRangeSymmetric"] or not settings.options.given("CalibTensorRangeSymmetric")
    low, high = sketch.percentile(99.999 if q is None else float(q), absolute=bool(symmetric))
    return max(low, sketch.minimum), min(high, sketch.maximum)


def distribution(sketch: Sketch, name: str, settings: Configuration, collected: Any) -> Range:
    """Three standard deviations around the mean, within the extremes."""
    spread = 3 * sketch.deviation
    return max(sketch.mean - spread, sketch.minimum), min(sketch.mean + spread, sketch.maximum)


MIN_MAX = Calibrator(
    CalibrationMethod.MinMax, "Range from the least to the greatest value.", False, min_max, moving_average
)
ENTROPY = Calibrator(CalibrationMethod.Entropy, "Range of least Kullback-Leibler divergence.", False, entropy)
PERCENTILE = Calibrator(CalibrationMethod.Percentile, "Range that holds CalibPercentile percent.", False, percentile)
DISTRIBUTION = Calibrator(CalibrationMethod.Distribution, "Range of three standard deviations.", False, distribution)
