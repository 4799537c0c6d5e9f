"""From marked tensors to a plan: roles, types, ranges, parameters, sharing, fused pairs, removed activations."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import ModelError, OptionError, suggest
from .graph import attribute
from .not_data import NotData
from .numerics import ZERO_POSITION, scale_of
from .parameters import (
    Affine,
    ErrorCurve,
    affine,
    by_channel,
    int32_bias_positions,
    int32_bias_scale,
    softmax_affine,
    widened,
)
from .plan import Bound, Conversion, Int32Bias, Plan, Role, TensorPlan
from .sketch import Sketch
from .types import INT32, QType, qtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import NodeProto

    from .quantizer import PlannedQDQQuantizer

Override = dict[str, Any]

DEQUANTIZES, QUANTIZES = ("DequantizeLinear", "FixNeuron"), ("QuantizeLinear", "FixNeuron")


class Planner:
    """Turns what the operator handlers marked into a Plan."""

    def __init__(self, quantizer: PlannedQDQQuantizer) -> None:
        self.q = quantizer
        self.run, self.graph = quantizer.run, quantizer.graph
        self.call = quantizer.run.options
        self.result = Plan(self.graph)
        self.not_data = NotData(self.graph, quantizer.statistics)
        self.range_source: dict[str, str] = dict(self.not_data.padded)

    def plan(self) -> Plan:
        marks = self.q.tensors_to_quantize
        self._share_ranges()
        for name, info in marks.items():
            role = Role.WEIGHT if info.tensor_type.name == "WEIGHT" else Role.ACTIVATION
            provider = info.quant_para_provider.input_name if info.is_shared else None
            if provider is not None and provider not in marks:
                provider = None
            if not self._is_read(name) or not self._is_data(name, role) or self._has_a_pair(name):
                continue
            if self.graph.is_constant(name):
                self.result.tensors[name] = self._constant(name, role, info.axis)
            elif self._is_known(name) or provider is not None:
                self.result.tensors[name] = self._activation(name)
                if provider is not None and provider in self.result.tensors:
                    self.result.provider[name] = provider
            else:
                self.run.report.note(f"{name} was never computed in calibration; it stays float")
        self._biases()
        self._fuse()
        self._remove_activations()
        self._scale_transform()
        self.run.report.not_data.update(self.not_data.reasons)
        return self.result

    # ------------------------------------------------------------------ activations

    def _activation(self, name: str) -> TensorPlan:
        override = self._override(name)
        sketch = self.q.statistics.get(self.range_source.get(name, name)) or Sketch()
        kind = self._kind(override, self.run.activation)
        planned = self._parameters(name, Role.ACTIVATION, kind, sketch, self._symmetric(name, override), override)
        convert = override.get("convert")
        if convert is not None:
            to = self._kind(convert, kind)
            symmetric = bool(convert.get("symmetric", self.call["ActivationSymmetric"]))
            other = self._parameters(name, Role.ACTIVATION, to, sketch, symmetric, convert)
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

    def _is_known(self, name: str) -> bool:
        """Whether calibration saw the tensor, or an override states its parameters."""
        return self.range_source.get(name, name) in self.q.statistics or "scale" in self._override(name)

    def _symmetric(self, name: str, override: Override) -> bool:
        if "symmetric" in override:
            return bool(override["symmetric"])
        if not self.call["ActivationSymmetric"]:
            return False
        return not (self.call["UseUnsignedReLU"] and self._is_never_negative(name))

    def _is_never_negative(self, name: str) -> bool:
        node = self.graph.producer(name)
        if node is None or node.op_type not in ("Relu", "Clip"):
            return False
        return node.op_type == "Relu" or clip_limits(self.graph, node)[0] == 0

    def _share_ranges(self) -> None:
        """What saturates anyway needs no codes: the input of a Relu or Clip takes the range of its output."""
        for node in self.q.marked_nodes.values():
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

    # ------------------------------------------------------------------ constants

    def _constant(self, name: str, role: Role, axis: int | None) -> TensorPlan:
        overrides = self._overrides(name)
        first = overrides[0]
        array = self._finite(name)
        kind = self._kind(first, self.run.weight if role is Role.WEIGHT else self.run.activation)
        axis = first.get("axis", axis)
        if axis is not None and array.ndim:
            axis = axis % array.ndim
            return self._per_channel(name, role, kind, array, axis, overrides)
        if role is Role.WEIGHT:
            symmetric = bool(first.get("symmetric", self._weight_symmetric(kind)))
        else:
            symmetric = bool(first.get("symmetric", self.call["ActivationSymmetric"]))
        return self._parameters(name, role, kind, None, symmetric, first, array)

    def _weight_symmetric(self, kind: QType) -> bool:
        if self.call.given("WeightSymmetric") and self.call["WeightSymmetric"] is not None:
            return bool(self.call["WeightSymmetric"])
        return kind.is_signed

    def _per_channel(
        self, name: str, role: Role, kind: QType, array: NDArray[Any], axis: int, overrides: list[Override]
    ) -> TensorPlan:
        """Always symmetric: integer operators need one zero point for all channels."""
        channels = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
        found = [
            self._parameters(name, role, kind, None, True, overrides[min(number, len(overrides) - 1)], channel)
            for number, channel in enumerate(channels)
        ]
        scale = np.array([channel.scale for channel in found], dtype=np.float32)
        zero = np.array([channel.zero_point for channel in found], dtype=np.int64)
        return TensorPlan(name, role, kind, scale, zero, axis, fixed=True)

    def _finite(self, name: str) -> NDArray[Any]:
        array = self.graph.array(name)
        assert array is not None
        if not np.isfinite(array).all():
            worst = "NaN" if np.isnan(array).any() else "Inf"
            raise ModelError(f"the weight {name} holds {worst}; repair the model, or exclude the nodes that read it")
        return array

    # ------------------------------------------------------------------ parameters of one tensor

    def _parameters(
        self,
        name: str,
        role: Role,
        kind: QType,
        sketch: Sketch | None,
        symmetric: bool,
        override: Override,
        array: NDArray[Any] | None = None,
    ) -> TensorPlan:
        if not kind.is_integer:
            return TensorPlan(name, role, kind, np.ones((), np.float32), np.zeros((), np.int64), fixed=True)
        reduce_range = override.get("reduce_range", self.run.request.reduce_range and role is not Role.ACTIVATION)
        limits = kind.limits(reduce_range=bool(reduce_range))
        if "scale" in override and "zero_point" in override:
            return self._overridden(name, role, kind, override)
        method = self.run.method
        source = self.range_source.get(name, name)
        if role is Role.ACTIVATION and self._is_softmax(name) and array is None and "rmin" not in override:
            if method.power_of_two or self.q.power_of_two_scales:
                given = softmax_affine(kind, symmetric=symmetric)
                return TensorPlan(name, role, kind, given.scale, given.zero_point, curve=None, fixed=True)
            given = affine(0.0, 1.0, kind, self._float_limits(kind, limits, symmetric), symmetric=symmetric)
            return TensorPlan(name, role, kind, given.scale, given.zero_point)
        if method.power_of_two and "rmin" not in override and "rmax" not in override:
            settled = self._settled(name) if array is None and kind == self.run.activation else {}
            curve = ErrorCurve(sketch or sketch_of(array), kind, limits, symmetric, array, method.never_clips, settled)
            position = ZERO_POSITION if curve.is_zero else method.choose(curve, source, self._collected(array))
            planned = TensorPlan(name, role, kind, np.ones((), np.float32), np.zeros((), np.int64), curve=curve)
            planned.move(position)
            return planned
        if array is not None:
            low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
        else:
            seen = sketch or Sketch()
            if method.power_of_two:
                low, high = seen.minimum, seen.maximum
            elif source in self.q.statistics.ranges:
                low, high = self.q.statistics.ranges[source]
            else:
                low, high = method.choose(seen, source, self.run, self._collected(array))
        low, high = float(override.get("rmin", low)), float(override.get("rmax", high))
        low, high = widened(low, high, self.call["MinimumRealRange"])
        given = affine(low, high, kind, self._float_limits(kind, limits, symmetric), symmetric=symmetric)
        if method.power_of_two or self.q.power_of_two_scales:
            given = _rounded_up(given, low, limits, symmetric=symmetric)
        return TensorPlan(name, role, kind, given.scale, given.zero_point)

    def _settled(self, name: str) -> Mapping[int, tuple[float, int]]:
        return self.q.statistics.settled.get(self.range_source.get(name, name), {})

    def _collected(self, array: NDArray[Any] | None) -> Any:
        return self.q.statistics.collected if array is None else None

    def _float_limits(self, kind: QType, limits: tuple[int, int], symmetric: bool) -> tuple[int, int]:
        """With float scales a symmetric signed type gives up its lowest code, as in onnxruntime."""
        if symmetric and kind.is_signed and limits == kind.limits():
            return -limits[1], limits[1]
        return limits

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
        return node is not None and self.graph.stands_for.get(node.name, node).op_type == "Softmax"

    def _kind(self, override: Override, default: QType) -> QType:
        return qtype(override["quant_type"]) if "quant_type" in override else default

    def _overrides(self, name: str) -> list[Override]:
        return list(self.q.tensor_quant_overrides.get(name, None) or [{}])

    def _override(self, name: str) -> Override:
        return self._overrides(name)[0]

    # ------------------------------------------------------------------ biases

    def _biases(self) -> None:
        for name, info in self.q.bias_to_quantize.items():
            if self.not_data.reason(name) is not None:
                continue
            x, w = self.result.of(info.input_name), self.result.of(info.weight_name)
            kind = self.q.bias_kind(w.kind if w is not None else self.run.weight)
            override = self._override(name)
            if kind is not None or override or (w is not None and not w.kind.is_integer):
                kind = kind or self._kind(override, w.kind if w is not None else self.run.weight)
                array = self._finite(name)
                planned = self._parameters(name, Role.BIAS, kind, None, True, override, array)
                self.result.tensors[name] = planned
            elif x is not None and w is not None:
                self._int32_bias(name, Int32Bias(info.node_name, x.name, w.name, info.beta), x, w)

    def _int32_bias(self, name: str, derived: Int32Bias, x: TensorPlan, w: TensorPlan) -> None:
        array = self._finite(name)
        planned = TensorPlan(name, Role.BIAS, INT32, x.scale, np.zeros((), np.int64), derived=derived)
        self.result.tensors[name] = planned
        if x.position is not None and w.position is not None:
            highest = int32_bias_positions(array)
            if highest is not None:
                xpos, wpos = self.result.positions(x.name, w.name)
                self.result.bounds.append(
                    Bound(wpos + xpos, high=highest, prefer=wpos, rule="Int32Bias", node=derived.node)
                )
        elif not self.call["QDQDisableWeightAdjustForInt32Bias"]:
            self._enlarge(array, derived, x, w)

    def _enlarge(self, bias: NDArray[Any], derived: Int32Bias, x: TensorPlan, w: TensorPlan) -> None:
        """A weight scale grows where x * w would be too small a scale for its bias."""
        scale = np.asarray(x.scale, np.float64) * w.scale * derived.beta
        reach = np.abs(bias.astype(np.float64))
        if scale.ndim == 1:
            reach = by_channel(reach, scale.size).reshape(-1, scale.size).max(axis=0)
        factor = int32_bias_scale(reach, scale)
        if self.run.method.power_of_two:
            factor = np.exp2(np.ceil(np.log2(factor)))
        if (factor > 1).any():
            low = (w.kind.min - w.zero_point) * w.scale.astype(np.float64)
            w.scale = np.asarray(w.scale * factor, dtype=np.float32)
            if w.zero_point.any():
                w.zero_point = np.clip(np.rint(w.kind.min - low / w.scale), w.kind.min, w.kind.max).astype(np.int64)
            self.run.report.note(f"the scale of {w.name} was enlarged so that the int32 bias of {derived.node} fits")

    # ------------------------------------------------------------------ fused pairs and removed activations

    def _fuse(self) -> None:
        """Tensors inside one device operation get no pair."""
        pairs = [pair for pair in self.run.catalog.fusions(self.run.lineage) if self.run.enabled(pair)]
        if not pairs or self.run.activation.is_wide:
            return
        for node in self.q.marked_nodes.values():
            tensor = self.result.fused_end(node.output[0])
            consumer = self.graph.sole_consumer(tensor)
            if consumer is None or consumer.name not in self.q.marked_nodes or tensor not in self.result:
                continue
            for pair in pairs:
                fits = node.op_type in pair.producers and consumer.op_type in pair.consumers
                if fits and pair.applies(self.graph, node, consumer):
                    self.result.fused[tensor] = consumer.output[0]
                    self._drop(tensor)
                    break

    def _drop(self, tensor: str) -> None:
        """Take a tensor out of the plan; who used its parameters uses its provider's, or shares among themselves."""
        provider = self.result.provider.pop(tensor, None)
        followers = [name for name, other in self.result.provider.items() if other == tensor]
        for follower in followers:
            if provider is not None:
                self.result.provider[follower] = provider
            elif follower != followers[0]:
                self.result.provider[follower] = followers[0]
            else:
                del self.result.provider[follower]
        if followers and provider is None:
            first, dropped = self.result.tensors[followers[0]], self.result.tensors[tensor]
            first.scale, first.zero_point, first.curve = dropped.scale, dropped.zero_point, dropped.curve
        del self.result.tensors[tensor]

    def _remove_activations(self) -> None:
        """A Relu or Clip goes where the codes of its output saturate just as it does."""
        for node in self.q.removable:
            x, y = node.input[0], node.output[0]
            planned = self.result.of(y)
            if planned is None or planned.conversion is not None or x not in self.result:
                continue
            if self.graph.sole_consumer(x) is not node or self.graph.producer(x) is None or x in self.result.fused:
                continue
            if self.graph.element_type(x) and saturates(self.graph, node, planned):
                self.result.fused[x] = y
                self.result.removed[node.name] = node
                self._drop(x)

    def _scale_transform(self) -> None:
        """Formats of scales (M / 2^N) are put on last, on every scale that is not a power of two."""
        for scale_format in self.run.scale_formats():
            for planned in self.result:
                if planned.derived is None and planned.kind.is_integer:
                    planned.scale = scale_format(planned.scale)


def sketch_of(array: NDArray[Any] | None) -> Sketch:
    """The sketch of a constant; an empty one where there is none."""
    sketch = Sketch()
    if array is not None:
        sketch.add(array)
    return sketch


def _rounded_up(given: Affine, low: float, limits: tuple[int, int], *, symmetric: bool) -> Affine:
    """The next power of two that still covers the range, for stated ranges and for formats that know no other."""
    scale = scale_of(-math.ceil(math.log2(float(given.scale))))
    zero = given.zero_point
    if not symmetric:
        zero = np.asarray(min(max(round(limits[0] - min(low, 0.0) / scale), limits[0]), limits[1]), dtype=np.int64)
    return Affine(np.asarray(scale, dtype=np.float32), zero)


def clip_limits(graph: Any, node: NodeProto) -> tuple[float | None, float | None]:
    """The constant limits of a Relu or Clip in either spelling; NaN where a limit is not constant."""
    if node.op_type == "Relu":
        return 0.0, None
    limits: list[float | None] = []
    for number, key in ((1, "min"), (2, "max")):
        value = attribute(node, key)
        if value is None and len(node.input) > number and node.input[number]:
            array = graph.array(node.input[number])
            value = float("nan") if array is None else float(np.asarray(array).reshape(-1)[0])
        limits.append(None if value is None else float(value))
    return limits[0], limits[1]


def saturates(graph: Any, node: NodeProto, planned: TensorPlan) -> bool:
    """Whether quantizing the input gives the codes that quantizing the output gives: both limits lie on end codes."""
    if planned.scale.ndim or not planned.kind.is_integer:
        return False
    low, high = clip_limits(graph, node)
    scale, zero = float(planned.scale), int(planned.zero_point)
    low_fits = low is None or round(low / scale) + zero <= planned.kind.min if low == low else False
    high_fits = high is None or round(high / scale) + zero >= planned.kind.max if high == high else False
    return bool(low_fits and high_fits)
