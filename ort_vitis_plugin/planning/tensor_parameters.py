"""One tensor's scale and zero point: from its range by the method, or as the caller states them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, OptionError
from ..numerics.positions import ZERO_POSITION, scale_of
from ..numerics.qtypes import QType, qtype
from ..plan import Role, TensorPlan
from ..plan.affine import Affine, affine, softmax_affine, widened
from ..plan.error_curve import ErrorCurve
from ..sketch import Sketch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from .marker import PlannedQDQQuantizer

Override = dict[str, Any]


class Chooser:
    """What the method, the type and the caller's overrides make of a tensor's range."""

    def __init__(self, quantizer: PlannedQDQQuantizer, range_source: Mapping[str, str]) -> None:
        self.q = quantizer
        self.run, self.graph = quantizer.run, quantizer.graph
        self.call = quantizer.run.options
        self.range_source = range_source

    def parameters(
        self,
        name: str,
        role: Role,
        kind: QType,
        sketch: Sketch | None,
        symmetric: bool,
        override: Override,
        array: NDArray[Any] | None = None,
    ) -> TensorPlan:
        """The tensor planned: ``sketch`` is what calibration saw of it, ``array`` the value of a constant."""
        if not kind.is_integer:
            return TensorPlan(name, role, kind, np.ones((), np.float32), np.zeros((), np.int64), fixed=True)
        reduce_range = override.get("reduce_range", self.run.request.reduce_range and role is not Role.ACTIVATION)
        limits = kind.limits(reduce_range=bool(reduce_range))
        powers = self.run.method.power_of_two or self.q.power_of_two_scales
        if "scale" in override and "zero_point" in override:
            return self._overridden(name, role, kind, override)
        if role is Role.ACTIVATION and self._is_softmax(name) and array is None and "rmin" not in override:
            if powers:
                given = softmax_affine(kind, symmetric=symmetric)
            else:
                given = affine(0.0, 1.0, kind, _float_limits(kind, limits, symmetric=symmetric), symmetric=symmetric)
            return TensorPlan(name, role, kind, given.scale, given.zero_point, fixed=powers)
        if self.run.method.power_of_two and "rmin" not in override and "rmax" not in override:
            exact = self._exact(name) if array is None and kind == self.run.activation else {}
            never_clips = self.run.method.never_clips
            curve = ErrorCurve(sketch or sketch_of(array), kind, limits, symmetric, array, never_clips, exact)
            planned = TensorPlan(name, role, kind, np.ones((), np.float32), np.zeros((), np.int64), curve=curve)
            planned.move(self._position(name, curve, array))
            return planned
        low, high = self._range(name, sketch or Sketch(), array)
        low, high = float(override.get("rmin", low)), float(override.get("rmax", high))
        low, high = widened(low, high, self.call["MinimumRealRange"])
        given = affine(low, high, kind, _float_limits(kind, limits, symmetric=symmetric), symmetric=symmetric)
        if powers:
            given = _rounded_up(given, low, limits, symmetric=symmetric)
        return TensorPlan(name, role, kind, given.scale, given.zero_point)

    def _position(self, name: str, curve: ErrorCurve, array: NDArray[Any] | None) -> int:
        if curve.is_zero:
            return ZERO_POSITION
        source = self.range_source.get(name, name)
        return int(self.run.method.choose(curve, source, self._collected(array)))

    def _range(self, name: str, seen: Sketch, array: NDArray[Any] | None) -> tuple[float, float]:
        source, method = self.range_source.get(name, name), self.run.method
        if array is not None:
            return (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
        if method.power_of_two:
            return seen.minimum, seen.maximum
        if source in self.q.statistics.ranges:
            return self.q.statistics.ranges[source]
        low, high = method.choose(seen, source, self.run, self._collected(array))
        return float(low), float(high)

    def _exact(self, name: str) -> Mapping[int, tuple[float, int]]:
        return self.q.statistics.exact.get(self.range_source.get(name, name), {})

    def _collected(self, array: NDArray[Any] | None) -> Any:
        return self.q.statistics.collected if array is None else None

    def _overridden(self, name: str, role: Role, kind: QType, override: Override) -> TensorPlan:
        scale = np.asarray(override["scale"], dtype=np.float32).reshape(())
        zero = np.asarray(override["zero_point"]).astype(np.int64).reshape(())
        if not float(scale) > 0 or not np.isfinite(scale):
            raise OptionError(f"TensorQuantOverrides[{name!r}] has the scale {float(scale)}; it must be positive")
        if not kind.min <= int(zero) <= kind.max:
            raise OptionError(f"TensorQuantOverrides[{name!r}] has the zero point {int(zero)}, outside of {kind}")
        return TensorPlan(name, role, kind, scale, zero, fixed=True)

    def _is_softmax(self, name: str) -> bool:
        node = self.graph.producer(name)
        return node is not None and self.graph.simulated_node.get(node.name, node).op_type == "Softmax"

    def kind(self, override: Override, default: QType) -> QType:
        """The type that the caller states, else ``default``."""
        return qtype(override["quant_type"]) if "quant_type" in override else default

    def overrides(self, name: str) -> list[Override]:
        """What the caller states of the tensor, channel by channel."""
        return list(self.q.tensor_quant_overrides.get(name, None) or [{}])

    def override(self, name: str) -> Override:
        """What the caller states of the tensor."""
        return self.overrides(name)[0]

    def is_known(self, name: str) -> bool:
        """Whether calibration saw the tensor, or an override states its parameters."""
        return self.range_source.get(name, name) in self.q.statistics or "scale" in self.override(name)

    def finite(self, name: str) -> NDArray[Any]:
        """The value of a constant, which must be finite."""
        array = self.graph.array(name)
        assert array is not None
        if not np.isfinite(array).all():
            worst = "NaN" if np.isnan(array).any() else "Inf"
            raise ModelError(f"the weight {name} holds {worst}; repair the model, or exclude the nodes that read it")
        return array


def sketch_of(array: NDArray[Any] | None) -> Sketch:
    """The sketch of a constant; an empty one where there is none."""
    sketch = Sketch()
    if array is not None:
        sketch.add(array)
    return sketch


def _float_limits(kind: QType, limits: tuple[int, int], *, symmetric: bool) -> tuple[int, int]:
    """With float scales a symmetric signed type gives up its lowest code, as in onnxruntime."""
    if symmetric and kind.is_signed and limits == kind.limits():
        return -limits[1], limits[1]
    return limits


def _rounded_up(given: Affine, low: float, limits: tuple[int, int], *, symmetric: bool) -> Affine:
    """The next power of two that still covers the range, for stated ranges and for formats that know no other."""
    scale = scale_of(-math.ceil(math.log2(float(given.scale))))
    zero = given.zero_point
    if not symmetric:
        zero = np.asarray(min(max(round(limits[0] - min(low, 0.0) / scale), limits[0]), limits[1]), dtype=np.int64)
    return Affine(np.asarray(scale, dtype=np.float32), zero)
