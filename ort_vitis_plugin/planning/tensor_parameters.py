"""One tensor's scale and zero point: from its range by the method, or as the caller states them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, OptionError
from ..numerics.positions import ZERO_POSITION
from ..numerics.qtypes import QType, Scaling
from ..options.ort_options import OrtOptions
from ..plan import Role, TensorPlan
from ..plan.affine import restricted, softmax_affine, widened
from ..plan.energy_curve import EnergyCurve, least_error_shares
from ..plan.error_curve import ErrorCurve
from ..plugin.methods import TensorFacts
from ..sketch import Sketch
from .bounded_functions import least_range
from .weight_energies import WeightEnergies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from ..calibration.statistics import Statistics
    from ..emission.pair_writer import PairWriter
    from ..plan.affine import Affine
    from ..plan.marks import Marks, Override
    from ..request.call import Call


def follows_energy(settings: Call) -> bool:
    """Whether weights count by what they are multiplied with; a method that never clips keeps its promise."""
    method = settings.method
    return settings.call.weight_range != "method" and not method.never_clips and not method.chooses_weights


# What a caller may state of a tensor's parameters, beside its type.
PARAMETERS = frozenset({"scale", "zero_point", "rmin", "rmax"})


class TensorParameters:
    """What the method, the type, its format and the caller's overrides make of a tensor's range."""

    def __init__(
        self,
        marks: Marks,
        statistics: Statistics,
        settings: Call,
        writer: PairWriter,
        range_source: Mapping[str, str],
    ) -> None:
        self.marks, self.statistics, self.graph = marks, statistics, marks.graph
        self.settings, self.writer = settings, writer
        self.range_source = range_source
        self.follows_energy = follows_energy(settings)
        self.asked = settings.options[OrtOptions]
        sees = self.follows_energy or settings.method.chooses_weights
        self.energies = WeightEnergies(self.graph, statistics.energies if sees else {})

    def of(
        self,
        name: str,
        role: Role,
        kind: QType,
        sketch: Sketch | None,
        symmetric: bool,
        override: Override,
        array: NDArray[Any] | None = None,
        importance: NDArray[np.float32] | None = None,
    ) -> TensorPlan:
        """The tensor planned: ``sketch`` is what calibration saw of it, ``array`` the value of a constant, and
        ``importance`` what each of its elements counts.

        Raises OptionError where the caller states parameters that the type does not have.
        """
        stated = PARAMETERS & override.keys()
        if kind.scaling is Scaling.NONE and stated:
            raise OptionError(f"TensorQuantOverrides[{name!r}] states {', '.join(sorted(stated))}, but {kind} has none")
        if kind.scaling in (Scaling.UNIT, Scaling.NONE):
            return TensorPlan(name, role, kind, np.ones((), np.float32), np.zeros((), np.int64), fixed=True)
        if "scale" in override and "zero_point" in override:
            return self._overridden(name, role, kind, override)
        asked, method = self.asked, self.settings.method
        if role is Role.ACTIVATION and array is None and sketch is not None and method.power_of_two:
            if self._is_restricted(kind, symmetric=symmetric):
                symmetric = sketch.minimum < 0
            symmetric = symmetric or bool(asked.calib_tensor_range_symmetric and "symmetric" not in override)
        reduce_range = override.get("reduce_range", self.settings.request.reduce_range and role is not Role.ACTIVATION)
        limits = kind.limits(reduce_range=bool(reduce_range))
        nnapi = self._nnapi_sigmoid(name, role, kind)
        if nnapi is not None and not override:
            return nnapi
        flows = role is Role.ACTIVATION and array is None
        if kind.is_integer and flows and "rmin" not in override and self._is_quantized_softmax(name):
            return self._softmax(name, kind, limits, symmetric=symmetric)
        if kind.is_integer and method.power_of_two and "rmin" not in override and "rmax" not in override:
            exact = self._exact(name) if array is None and kind == self.settings.activation else {}
            what = (sketch or sketch_of(array), kind, limits, symmetric, array, method.never_clips, exact)
            curve = ErrorCurve(*what) if importance is None else EnergyCurve(*what, importance=importance)
            planned = TensorPlan(name, role, kind, np.ones((), np.float32), np.zeros((), np.int64), curve=curve)
            planned.move(self._wide_enough(self._position(name, role, curve, array), limits))
            return planned
        low, high = self._range(name, role, sketch or Sketch(), array)
        room = least_range(self.graph, self.statistics, name) if flows else None
        if room is not None:
            low, high = min(low, room[0]), max(high, room[1])
        if flows and asked.calib_tensor_range_symmetric:
            low, high = min(low, -high), max(high, -low)
        low, high = float(override.get("rmin", low)), float(override.get("rmax", high))
        low, high = widened(low, high, asked.minimum_real_range)
        if flows and self._is_restricted(kind, symmetric=symmetric) and not self.writer.power_of_two_scales:
            given = restricted(low, high, limits)
        else:
            given = self._range_parameters(low, high, kind, limits, symmetric=symmetric)
        return TensorPlan(name, role, kind, given.scale, given.zero_point)

    def once(self, key: tuple[object, ...], make: Callable[[], TensorPlan]) -> TensorPlan:
        """The tensor planned, found for the first of the plans that one call makes: methods look at all of its values.

        ``key`` tells it from other tensors, and from itself as other plans have it.
        """
        known = self.settings.ledger.planned
        planned = known.get(key)
        if planned is None:
            planned = known[key] = make()
        return planned.copy()

    def narrow(self, planned: TensorPlan, array: NDArray[Any], importance: NDArray[np.float32]) -> None:
        """Give a weight, planned from its range, the part of that range in which its error weighs least.

        One part for each index of its axis. Zero points stay: both ends of a range move in together.
        """
        kind, axis = planned.kind, planned.axis
        if not kind.is_integer or self.settings.method.power_of_two or not array.size:
            return
        rows = [
            part.reshape(1, -1) if axis is None else np.moveaxis(part, axis, 0).reshape(array.shape[axis], -1)
            for part in (array, importance)
        ]
        zeros = np.unique(planned.zero_point)
        if len(zeros) != 1:
            return
        low, high = (limit - int(zeros[0]) for limit in kind.limits())
        parts = 1 if self.writer.power_of_two_scales else 8
        shares = least_error_shares(rows[0], rows[1], planned.scale.reshape(-1), low, high, parts=parts)
        planned.scale = (planned.scale * shares.reshape(planned.scale.shape)).astype(np.float32)

    def _is_restricted(self, kind: QType, *, symmetric: bool) -> bool:
        asked = self.asked.activation_restricted_asymmetric
        return bool(asked) and not symmetric and kind.is_integer and kind.bits == 8 and not kind.is_signed

    def _wide_enough(self, position: int, limits: tuple[int, int]) -> int:
        """The position, or the finest at which all codes span MinimumRealRange."""
        least = self.asked.minimum_real_range
        if not least or least <= 0:
            return position
        return min(position, math.floor(math.log2((limits[1] - limits[0]) / least)))

    def _nnapi_sigmoid(self, name: str, role: Role, kind: QType) -> TensorPlan | None:
        """NNAPI demands the scale 1/256, from 0 on, behind a Sigmoid on codes (option extra.Sigmoid.nnapi)."""
        node = self.graph.producer(name)
        asked = self.asked.sigmoid_nnapi and self.writer.writes_operators
        if not asked or role is not Role.ACTIVATION or node is None or node.op_type != "Sigmoid":
            return None
        scale, zero = np.asarray(1 / 256, np.float32), np.asarray(kind.min, np.int64)
        return TensorPlan(name, role, kind, scale, zero, fixed=True) if node.name in self.marks.nodes else None

    def _softmax(self, name: str, kind: QType, limits: tuple[int, int], *, symmetric: bool) -> TensorPlan:
        powers = self.settings.method.power_of_two or self.writer.power_of_two_scales
        if powers:
            given = softmax_affine(kind, symmetric=symmetric)
        elif self.writer.writes_operators and not kind.is_signed:
            given = softmax_affine(kind, symmetric=False)  # what onnxruntime's kernel on codes is made for
        else:
            given = self._range_parameters(0.0, 1.0, kind, limits, symmetric=symmetric)
        return TensorPlan(name, Role.ACTIVATION, kind, given.scale, given.zero_point, fixed=powers)

    def _range_parameters(
        self, low: float, high: float, kind: QType, limits: tuple[int, int], *, symmetric: bool
    ) -> Affine:
        powers = self.settings.method.power_of_two or self.writer.power_of_two_scales
        return self.writer.parameters(low, high, kind, limits, symmetric=symmetric, powers=powers)

    def _position(self, name: str, role: Role, curve: ErrorCurve, array: NDArray[Any] | None) -> int:
        if curve.is_zero:
            return ZERO_POSITION
        source = self.range_source.get(name, name)
        return self.settings.method.position_of(curve, self._facts(source, role, array))

    def _range(self, name: str, role: Role, seen: Sketch, array: NDArray[Any] | None) -> tuple[float, float]:
        source, method = self.range_source.get(name, name), self.settings.method
        if array is not None:
            return method.weight_range(array, self._facts(source, role, array))
        if method.power_of_two:
            return seen.minimum, seen.maximum
        if source in self.statistics.ranges:
            return self.statistics.ranges[source]
        return method.range_of(seen, self._facts(source, role, array))

    def _exact(self, name: str) -> Mapping[int, tuple[float, int]]:
        return self.statistics.exact.get(self.range_source.get(name, name), {})

    def _facts(self, name: str, role: Role, array: NDArray[Any] | None) -> TensorFacts:
        collected = self.statistics.collected if array is None else None
        return TensorFacts(name, role, self.settings, collected, array, self.energies.energy(name))

    def _overridden(self, name: str, role: Role, kind: QType, override: Override) -> TensorPlan:
        scale = np.asarray(override["scale"], dtype=np.float32).reshape(())
        zero = np.asarray(override["zero_point"]).astype(np.int64).reshape(())
        if not float(scale) > 0 or not np.isfinite(scale):
            raise OptionError(f"TensorQuantOverrides[{name!r}] has the scale {float(scale)}; it must be positive")
        if kind.scaling is Scaling.LINEAR and int(zero):
            raise OptionError(f"TensorQuantOverrides[{name!r}] has the zero point {int(zero)}; {kind} has none but 0")
        if not kind.min <= int(zero) <= kind.max:
            raise OptionError(f"TensorQuantOverrides[{name!r}] has the zero point {int(zero)}, outside of {kind}")
        return TensorPlan(name, role, kind, scale, zero, fixed=True)

    def _is_quantized_softmax(self, name: str) -> bool:
        """Whether the tensor is written by a Softmax on codes; one that stays float fills no fixed range."""
        node = self.graph.producer(name)
        node = node and self.graph.simulated_node.get(node.name, node)
        return node is not None and node.op_type == "Softmax" and node.name in self.marks.nodes

    def kind(self, override: Override, default: QType) -> QType:
        """The type that the caller states, else ``default``."""
        kind: QType = override.get("quant_type", default)
        return kind

    def overrides(self, name: str) -> list[Override]:
        """What the caller states of the tensor, channel by channel."""
        return list(self.marks.overrides.get(name) or [{}])

    def override(self, name: str) -> Override:
        """What the caller states of the tensor."""
        return self.overrides(name)[0]

    def is_known(self, name: str) -> bool:
        """Whether calibration saw the tensor, or an override states its parameters."""
        return self.range_source.get(name, name) in self.statistics or "scale" in self.override(name)

    def finite(self, name: str) -> NDArray[Any]:
        """The value of a constant, which must be finite.

        Raises:
            ModelError: it holds NaN or Inf.
        """
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
