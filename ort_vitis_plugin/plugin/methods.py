"""A calibration method turns what samples show of a tensor into a range of reals, or into a power-of-two position."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import PluginError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..plan import Role
    from ..plan.error_curve import ErrorCurve
    from ..sketch import Sketch
    from .context import Configuration

Range = tuple[float, float]


class Collector(Protocol):
    """What a method gathers sample by sample, for methods that treat samples apart."""

    def observe(self, sketches: Mapping[str, Sketch]) -> None:
        """See the sketches of one sample, by tensor."""


@dataclass(frozen=True)
class TensorFacts:
    """What a method may know of a tensor besides the distribution of its values.

    ``name`` is the tensor whose samples count (the output, for the input of a Relu). ``collected`` is what the
    method's collector has gathered, None for constants. ``values`` is a constant's value, of any shape: one channel
    of it where channels have scales of their own. ``input_energy`` is, for a weight, the mean square of what it is
    multiplied with, one per input channel; None where it is not known.
    """

    name: str
    role: Role
    configuration: Configuration
    collected: Any = None
    values: NDArray[Any] | None = None
    input_energy: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Method:
    """What every calibration method has; plugins declare one of its three kinds."""

    key: object
    doc: str

    @property
    def power_of_two(self) -> bool:
        """Whether scales are powers of two."""
        return False

    @property
    def never_clips(self) -> bool:
        """Whether zero points keep the whole range inside."""
        return False

    @property
    def chooses_weights(self) -> bool:
        """Whether the method has a way of its own with weights."""
        return False

    def started_collector(self, configuration: Configuration) -> Collector | None:
        """What is to see the sketches of every sample, None where those of all samples together suffice."""
        return None

    def range_of(self, seen: Sketch, tensor: TensorFacts) -> Range:
        """(low, high) of an activation."""
        return seen.minimum, seen.maximum

    def weight_range(self, values: NDArray[Any], tensor: TensorFacts) -> Range:
        """(low, high) of a constant; (0, 0) for one without values."""
        return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)

    def position_of(self, curve: ErrorCurve, tensor: TensorFacts) -> int:
        """p of the step 2^-p.

        Raises:
            UnsupportedError: the method gives float scales.
        """
        raise UnsupportedError(f"{self.key} gives ranges, no power-of-two positions; use a method of PowerOfTwoMethod")

    def _checked(self, found: object, tensor: TensorFacts) -> Range:
        try:
            low, high = map(float, found)  # type: ignore[call-overload]
        except (TypeError, ValueError) as error:
            raise PluginError(f"method {self.key} gives {found!r} for {tensor.name}, not (low, high)") from error
        if math.isnan(low) or math.isnan(high):
            raise PluginError(f"method {self.key} gives the range [{low}, {high}] for {tensor.name}")
        return low, high


@dataclass(frozen=True)
class RangeMethod(Method):
    """A method of float scales: ``choose(seen, tensor)`` gives (low, high), the reals that codes must hold.

    ``seen`` is the exact sketch of all samples. ``choose_weight(values, tensor)`` does the same for a constant of one
    scale, or for one channel of it; without it a constant's range is that of its values. ``collector(configuration)``
    makes an object whose ``observe(sketches)`` sees each sample's sketches (None: not needed this time); it comes back
    as ``tensor.collected``.
    """

    choose: Callable[[Sketch, TensorFacts], Range]
    collector: Callable[[Configuration], Collector | None] | None = None
    choose_weight: Callable[[NDArray[Any], TensorFacts], Range] | None = None

    @property
    def chooses_weights(self) -> bool:
        return self.choose_weight is not None

    def started_collector(self, configuration: Configuration) -> Collector | None:
        return None if self.collector is None else self.collector(configuration)

    def range_of(self, seen: Sketch, tensor: TensorFacts) -> Range:
        return self._checked(self.choose(seen, tensor), tensor)

    def weight_range(self, values: NDArray[Any], tensor: TensorFacts) -> Range:
        """(low, high) of a constant, in the unit of its ``values``: all of it in any shape, or one channel [n]."""
        if self.choose_weight is None or not values.size:
            return super().weight_range(values, tensor)
        return self._checked(self.choose_weight(values, tensor), tensor)


@dataclass(frozen=True)
class PositionMethod(Method):
    """A method of power-of-two scales: ``choose(curve, tensor)`` gives the position p of the step 2^-p.

    ``curve`` is the tensor's squared error by position. Constants are asked for too: ``tensor.role`` says what a
    tensor is, ``tensor.values`` what it holds. ``collector`` is as for RangeMethod. ``never_clips``: zero points keep
    the whole range inside.
    """

    choose: Callable[[ErrorCurve, TensorFacts], int]
    collector: Callable[[Configuration], Collector | None] | None = None
    never_clips: bool = False

    @property
    def power_of_two(self) -> bool:
        return True

    def started_collector(self, configuration: Configuration) -> Collector | None:
        return None if self.collector is None else self.collector(configuration)

    def position_of(self, curve: ErrorCurve, tensor: TensorFacts) -> int:
        """p of the step 2^-p, as the method chooses it.

        Raises:
            PluginError: the method gives something else than a position.
        """
        found = self.choose(curve, tensor)
        if isinstance(found, bool) or not hasattr(found, "__index__"):
            raise PluginError(f"method {self.key} gives {found!r} for {tensor.name}, not a position")
        return int(found)


@dataclass(frozen=True)
class CalibraterMethod(Method):
    """A method that exists as a subclass of onnxruntime's CalibraterBase.

    ``calibrater(model_path, op_types, augmented_model_path, **arguments(configuration))`` makes one. It gets the
    prepared float model, and every sample that the host's own observers see: ``collect_data`` is called once for each,
    with a reader of that sample alone. ``compute_data`` gives the ranges; activations that it leaves out keep the
    range of their values, and the report says so. Constants keep theirs.

    It costs a copy of the model on the disk, one more run of the model for each sample, and what the class itself
    keeps: onnxruntime's histograms keep a sample's activations until the end of each call, lists of extremes grow
    with the samples. Statistics made beforehand (calibration, CalibrationCache) cannot serve it.
    """

    calibrater: Callable[..., Any]
    arguments: Callable[[Configuration], Mapping[str, object]] | None = None


def of_two_signatures(
    key: object,
    doc: str,
    power_of_two: bool,
    choose: Callable[..., Any],
    collector: Callable[[Any], Any] | None = None,
    never_clips: bool = False,
) -> Method:
    """The method of an old Calibrator: ``choose`` takes (curve, name, collected), or (sketch, name, run, collected)."""
    if power_of_two:
        return PositionMethod(
            key, doc, lambda curve, tensor: int(choose(curve, tensor.name, tensor.collected)), collector, never_clips
        )

    def choose_range(seen: Sketch, tensor: TensorFacts) -> Range:
        low, high = choose(seen, tensor.name, tensor.configuration, tensor.collected)
        return float(low), float(high)

    return RangeMethod(key, doc, choose_range, collector)
