"""Float-scale methods on exact sketches: the same meaning as onnxruntime's, in one pass and bounded memory."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping

from ort_vitis_plugin.api import CalibrationMethod, Configuration, OrtOptions, RangeMethod, Sketch, TensorFacts

Range = tuple[float, float]


def _as_asked(limits: Range, tensor: TensorFacts) -> Range:
    """The range, symmetric where CalibTensorRangeSymmetric asks for it."""
    if not tensor.configuration.options[OrtOptions].calib_tensor_range_symmetric:
        return limits
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
    return _as_asked(limits, tensor)


FINE = 2048  # bins in which squared errors are summed


def _squared_error(sketch: Sketch, limits: Range, codes: int) -> float:
    """What clipping to ``limits``, and rounding to ``codes`` steps of them, costs: s^2 / 12 for each value inside."""
    low, high = min(limits[0], 0.0), max(limits[1], 0.0)
    counts, edges = sketch.histogram(FINE, (sketch.minimum, sketch.maximum))
    middles = (edges[1:] + edges[:-1]) / 2
    clipped = middles - middles.clip(low, high)
    step = (high - low) / codes
    return float((counts * clipped**2).sum() + counts.sum() * step**2 / 12)


def entropy(sketch: Sketch, tensor: TensorFacts) -> Range:
    """The threshold of least Kullback-Leibler divergence, where it saves more squared error than it costs.

    The divergence looks at the shape of a histogram, not at how far values are clipped: on chains of products the
    whole range is better by up to 13 dB (tests/upstream/test_calibrators.py).
    """
    whole, kind = (sketch.minimum, sketch.maximum), tensor.configuration.activation
    if not kind.is_integer:  # its steps shrink with the values: clipping makes none of them finer
        return _as_asked(whole, tensor)
    found = sketch.entropy_range()
    if whole[0] != whole[1]:
        codes = 2**kind.bits - 1
        found = min(found, whole, key=lambda limits: _squared_error(sketch, limits, codes))
    return _as_asked(found, tensor)


def percentile(sketch: Sketch, tensor: TensorFacts) -> Range:
    """The range of CalibPercentile percent of the values, of magnitudes if symmetric (onnxruntime's default here)."""
    options = tensor.configuration.options
    q = options[OrtOptions].calib_percentile
    symmetric = options[OrtOptions].calib_tensor_range_symmetric or not options.given("CalibTensorRangeSymmetric")
    low, high = sketch.percentile(99.999 if q is None else float(q), absolute=bool(symmetric))
    return _as_asked((max(low, sketch.minimum), min(high, sketch.maximum)), tensor)


def distribution(sketch: Sketch, tensor: TensorFacts) -> Range:
    """The extremes. What mean and deviation say clips: it is farther from float, of floats of few bits too, whose
    exponents span the range anyway (tests/upstream/methods.md).
    """
    return _as_asked((sketch.minimum, sketch.maximum), tensor)


MIN_MAX = RangeMethod(CalibrationMethod.MinMax, "Range from the least to the greatest value.", min_max, moving_average)
ENTROPY = RangeMethod(
    CalibrationMethod.Entropy, "Range of least Kullback-Leibler divergence, where it saves squared error.", entropy
)
PERCENTILE = RangeMethod(CalibrationMethod.Percentile, "Range that holds CalibPercentile percent.", percentile)
DISTRIBUTION = RangeMethod(
    CalibrationMethod.Distribution, "The whole range, as onnxruntime's for integers; of floats too.", distribution
)
