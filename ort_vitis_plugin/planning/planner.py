"""From marked tensors to a plan: roles, types, ranges and who shares them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError, suggest
from ..graph.clip_limits import clip_limits
from ..numerics.qtypes import Scaling
from ..options.host_options import CallOptions
from ..options.ort_options import OrtOptions
from ..plan import Conversion, Plan, Role, TensorPlan
from ..selection.divisors import keep_divisors
from ..selection.masks_and_fills import NotData
from ..sketch import Sketch
from .biases import Biases
from .bounded_functions import keep_room
from .fusing import fuse, remove_activations
from .tensor_parameters import PARAMETERS, TensorParameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..calibration.statistics import Statistics
    from ..numerics.qtypes import QType
    from ..plan.marks import Marks, Override
    from ..request.call import Call
    from ..request.ledger import Ledger

DEQUANTIZES, QUANTIZES = ("DequantizeLinear", "FixNeuron"), ("QuantizeLinear", "FixNeuron")


class Planner:
    """Turns marks into a Plan, by what calibration saw and the call asks for."""

    def __init__(self, marks: Marks, statistics: Statistics, settings: Call, ledger: Ledger) -> None:
        self.marks, self.statistics = marks, statistics
        self.settings, self.ledger = settings, ledger
        self.graph, self.options = marks.graph, settings.options
        self.result = Plan(self.graph)
        self.not_data = NotData(self.graph, statistics)
        self.range_source: dict[str, str] = dict(self.not_data.padded)
        self.writer = settings.format.writer(settings, self.graph)
        self.parameters = TensorParameters(marks, statistics, settings, self.writer, self.range_source)

    def plan(self) -> Plan:
        """Constants and activations in the order of their marks, then what follows from them."""
        marks = self.marks.tensors
        self._share_ranges()
        for name, mark in marks.items():
            provider = mark.provider if mark.provider in marks else None
            if not self._is_read(name) or not self._is_data(name, mark.role) or self._has_a_pair(name):
                continue
            if name in self.ledger.float_tensors:
                continue
            if self.graph.is_constant(name):
                self.result.tensors[name] = self._constant(name, mark.role, mark.axis)
            elif self.parameters.is_known(name) or provider is not None:
                self.result.tensors[name] = self._activation(name)
                if provider is not None and provider in self.result.tensors:
                    self.result.provider[name] = provider
            else:
                self.ledger.report.note(f"{name} was never computed in calibration; it stays float")
        keep_divisors(self.result, self.statistics, self.ledger.report.note)
        Biases(self.marks, self.result, self.parameters, self.settings, self.ledger).plan(self.not_data)
        fuse(self.marks, self.result, self.settings)
        remove_activations(self.marks, self.result)
        keep_room(self.result, self.statistics)
        self._scale_transform()
        self.ledger.report.not_data.update(self.not_data.reasons)
        return self.result

    def _activation(self, name: str) -> TensorPlan:
        override = self.parameters.override(name)
        sketch = self.statistics.get(self.range_source.get(name, name)) or Sketch()
        kind = self.parameters.kind(override, self.settings.activation)
        planned = self.parameters.of(name, Role.ACTIVATION, kind, sketch, self._symmetric(name, override), override)
        convert = override.get("convert")
        if convert is not None:
            to = self.parameters.kind(convert, kind)
            symmetric = bool(convert.get("symmetric", self.options[OrtOptions].activation_symmetric))
            other = self.parameters.of(name, Role.ACTIVATION, to, sketch, symmetric, convert)
            receivers = convert.get("recv_nodes")
            readers = {reader.name for reader in self.graph.consumers(name)}
            for receiver in sorted(set(receivers or ()) - readers):
                raise OptionError(
                    f"TensorQuantOverrides[{name!r}]: the node {receiver!r} in recv_nodes does not read the tensor"
                    f"{suggest(receiver, readers)}; its readers are {', '.join(sorted(readers)) or 'none'}"
                )
            planned.conversion = Conversion(
                to, other.scale, other.zero_point, None if receivers is None else frozenset(receivers)
            )
        return planned

    def _symmetric(self, name: str, override: Override) -> bool:
        if "symmetric" in override:
            return bool(override["symmetric"])
        if not self.options[OrtOptions].activation_symmetric:
            return False
        return not (self.options[CallOptions].use_unsigned_relu and self._is_never_negative(name))

    def _is_never_negative(self, name: str) -> bool:
        node = self.graph.producer(name)
        if node is None or node.op_type not in ("Relu", "Clip"):
            return False
        return node.op_type == "Relu" or clip_limits(self.graph, node)[0] == 0

    def _share_ranges(self) -> None:
        """What saturates anyway needs no codes: the input of a Relu or Clip takes the range of its output."""
        for node in self.marks.nodes.values():
            if node.op_type in ("Relu", "Clip") and self.graph.sole_consumer(node.input[0]) is node:
                end = node.output[0]
                self.range_source[node.input[0]] = self.range_source.get(end, end)

    def _is_read(self, name: str) -> bool:
        return name in self.graph.outputs or bool(self.graph.consumers(name))

    def _is_data(self, name: str, role: Role) -> bool:
        return role is Role.WEIGHT or self.not_data.reason(name) is None

    def _has_a_pair(self, name: str) -> bool:
        """Whether the model came with the tensor's codes: they come from a dequantize node, or go to a quantize node.

        Weights that came as codes get a pair like any activation: without it onnxruntime 1.32 fuses every reader with
        the one constant, and with session.x64quantprecision fails to load the model.
        """
        producer, readers = self.graph.producer(name), self.graph.consumers(name)
        if producer is not None and producer.op_type.endswith(DEQUANTIZES):
            return self.graph.array(producer.input[0]) is None
        return bool(readers) and all(reader.op_type.endswith(QUANTIZES) for reader in readers)

    def _constant(self, name: str, role: Role, axis: int | None) -> TensorPlan:
        overrides = self.parameters.overrides(name)
        first = overrides[0]
        array = self.parameters.finite(name)
        kind = self.parameters.kind(first, self.settings.weight if role is Role.WEIGHT else self.settings.activation)
        axis = first.get("axis", axis)
        if axis is not None and array.ndim and kind.scaling is not Scaling.NONE:
            axis = axis % array.ndim
            return self._per_channel(name, role, kind, array, axis, overrides)
        if role is Role.WEIGHT:
            symmetric = bool(first.get("symmetric", self._weight_symmetric(kind)))
        else:
            symmetric = bool(first.get("symmetric", self.options[OrtOptions].activation_symmetric))
        importance = self._importance(name, role, overrides)
        planned = self.parameters.of(name, role, kind, None, symmetric, first, array, importance)
        if importance is not None:
            self.parameters.narrow(planned, array, importance)
        return planned

    def _importance(self, name: str, role: Role, overrides: list[Override]) -> NDArray[np.float32] | None:
        """What each element of a weight counts; None where the caller states its range."""
        if role is not Role.WEIGHT or any(PARAMETERS & override.keys() for override in overrides):
            return None
        return self.parameters.energies.importance(name)

    def _weight_symmetric(self, kind: QType) -> bool:
        asked = self.options[OrtOptions].weight_symmetric
        if self.options.given("WeightSymmetric") and asked is not None:
            return bool(asked)
        return kind.is_signed

    def _per_channel(
        self, name: str, role: Role, kind: QType, array: NDArray[Any], axis: int, overrides: list[Override]
    ) -> TensorPlan:
        """Always symmetric: integer operators need one zero point for all channels."""
        channels = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
        importance = self._importance(name, role, overrides)
        shares = [None] * len(channels) if importance is None else _by_channel(importance, axis)
        found = [
            self.parameters.of(name, role, kind, None, True, overrides[min(number, len(overrides) - 1)], channel, share)
            for number, (channel, share) in enumerate(zip(channels, shares, strict=True))
        ]
        scale = np.array([channel.scale for channel in found], dtype=np.float32)
        zero = np.array([channel.zero_point for channel in found], dtype=np.int64)
        planned = TensorPlan(name, role, kind, scale, zero, axis, fixed=True)
        if importance is not None:
            self.parameters.narrow(planned, array, importance)
        return planned

    def _scale_transform(self) -> None:
        """Formats of scales (M / 2^N) are put on last, on every scale that is not a power of two."""
        for scale_format in self.settings.scale_formats():
            for planned in self.result:
                if planned.derived is None and planned.kind.is_integer:
                    planned.scale = scale_format(planned.scale)


def _by_channel(importance: NDArray[np.float32], axis: int) -> list[NDArray[np.float32] | None]:
    """Rows along an axis; of a channel that nothing depends on all elements count alike."""
    rows = np.moveaxis(importance, axis, 0).reshape(importance.shape[axis], -1)
    return [row if row.any() else np.ones_like(row) for row in rows]
