"""From marked tensors to a plan: roles, types, ranges and who shares them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ..custom_ops.stored_codes import stored_codes
from ..errors import OptionError, suggest
from ..graph.clip_limits import clip_limits
from ..graph.op_sets import CLAMP_OPS
from ..options.host_options import CallOptions
from ..options.ort_options import OrtOptions
from ..plan import Conversion, Plan, Role, TensorPlan
from ..selection.divisors import keep_divisors
from ..selection.masks_and_fills import NotData
from ..selection.node_types import NodeTypes
from ..sketch import Sketch
from .biases import Biases
from .bounded_functions import keep_room
from .constants import Constants
from .fused_tensors import fuse, remove_activations
from .tensor_parameters import PARAMETERS, TensorParameters

if TYPE_CHECKING:
    from ..calibration.statistics import Statistics
    from ..numerics.qtypes import QType
    from ..plan.marks import Marks, Override
    from ..request.call import Call
    from ..request.ledger import Ledger

# What the caller states of a tensor that would else share another's parameters.
OWN_PARAMETERS = PARAMETERS | {"quant_type", "symmetric", "reduce_range"}
DEQUANTIZES, QUANTIZES = ("DequantizeLinear", "FixNeuron"), ("QuantizeLinear", "FixNeuron")


class Planner:
    """Turns marks into a Plan, by what calibration saw and the call asks for."""

    def __init__(self, marks: Marks, statistics: Statistics, settings: Call, ledger: Ledger) -> None:
        self.marks, self.statistics = marks, statistics
        self.settings, self.ledger = settings, ledger
        self.graph, self.options = marks.graph, settings.options
        self.not_data = NotData(self.graph, statistics)
        self.range_source: dict[str, str] = dict(self.not_data.padded)
        self.result = Plan(self.graph, range_source=self.range_source, float_readers=frozenset(ledger.float_readers))
        self.writer = settings.format.writer(settings, self.graph)
        self.types = NodeTypes(self.graph, settings.settings, ledger)
        self.parameters = TensorParameters(marks, statistics, settings, self.writer, self.range_source)
        self.constants = Constants(self.parameters, settings)

    def plan(self) -> Plan:
        """Constants and activations in the order of their marks, then what follows from them."""
        marks = self.marks.tensors
        self._share_ranges()
        for name, mark in marks.items():
            provider = mark.provider if mark.provider in marks else None
            if not self._is_read(name) or not self._is_data(name, mark.role):
                continue
            if self._has_a_pair(name):
                given = self._with_codes(name)
                if given is not None:
                    self.result.tensors[name] = given
                continue
            if name in self.ledger.float_tensors:
                continue
            if self.graph.is_constant(name):
                default = self._constant_kind(name, mark.role)
                self.result.tensors[name] = self.constants.of(name, mark.role, default, mark.axis)
            elif self.parameters.is_known(name) or provider is not None or not self._kinds(name)[0].has_parameters:
                self.result.tensors[name] = planned = self._activation(name)
                shared = self.result.tensors.get(provider) if provider is not None else None
                if shared is not None and self._may_share(shared.kind, planned.kind):
                    self._follow(name, shared.name)
            else:
                self.ledger.report.note(f"{name} was never computed in calibration; it stays float")
        keep_divisors(self.result, self.statistics, self.ledger.report.note)
        Biases(self.marks, self.result, self.constants, self.settings, self.ledger).plan(self.not_data)
        fuse(self.marks, self.result, self.settings)
        remove_activations(self.marks, self.result)
        keep_room(self.result, self.statistics)
        self._scale_transform()
        self.ledger.report.not_data.update(self.not_data.reasons)
        return self.result

    def _activation(self, name: str) -> TensorPlan:
        override = self.parameters.override(name)
        sketch = self.statistics.get(self.range_source.get(name, name)) or Sketch()
        default, *others = self._kinds(name)
        kind = self.parameters.kind(override, self.writer.kind_of(name, default))
        symmetric = self._symmetric(name, override)
        planned = self.parameters.once(
            (name, Role.ACTIVATION, kind, symmetric),
            lambda: self.parameters.of(name, Role.ACTIVATION, kind, sketch, symmetric, override),
        )
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
        elif others and "quant_type" not in override:
            self._read_in_another_type(planned, others, sketch)
        return planned

    def _follow(self, name: str, provider: str) -> None:
        """Take the parameters in which the node reads the provider, unless the caller states others of the result."""
        node, planned = self.graph.producer(name), self.result.tensors[name]
        if provider not in self.result.tensors or OWN_PARAMETERS & self.parameters.override(name).keys():
            return
        given = self.result.tensors[provider]
        if given.scale.ndim:  # channels are elsewhere behind what moves them
            return
        converted = node and given.converted_for(node.name)
        if converted:
            self.result.tensors[name] = replace(converted, name=name, conversion=planned.conversion)
        else:
            self.result.provider[name] = provider

    def _may_share(self, kind: QType, other: QType) -> bool:
        """Whether a tensor of one type may take the parameters, and so the type, of a tensor that it was moved from."""
        return kind == other or (kind.has_parameters and other.has_parameters and not self.types.mixed)

    def _kinds(self, name: str) -> list[QType]:
        """The tensor's types, its own first, then those that readers want.

        What computes in integers writes its own type; half floats and blocks are made where they are read.
        """
        base = self.settings.activation
        if not self.types.mixed:
            return [base]
        readers = [node for node in self.graph.consumers(name) if node.name in self.marks.nodes]
        wanted = [kind for kind, _ in Counter(self.types.of(node).activation for node in readers).most_common()]
        producer = self.graph.producer(name)
        if producer is None or producer.name not in self.marks.nodes:
            return wanted or [base]
        made = self.types.of(producer).activation
        if made.is_integer:
            return [made, *(kind for kind in wanted if kind != made)]
        return wanted or [made if base.is_integer else base]

    def _read_in_another_type(self, planned: TensorPlan, others: list[QType], sketch: Sketch) -> None:
        """Readers of the second type get a pair of their own (behind one of integers); those of a third the first."""
        name, kind = planned.name, others[0]
        readers = [node for node in self.graph.consumers(name) if self.types.of(node).activation == kind]
        symmetric = bool(self.options[OrtOptions].activation_symmetric)
        other = self.parameters.of(name, Role.ACTIVATION, kind, sketch, symmetric, {})
        receivers = frozenset(node.name for node in readers)
        planned.conversion = Conversion(kind, other.scale, other.zero_point, receivers, not planned.kind.is_integer)
        if len(others) > 1:
            rest = ", ".join(map(str, others[1:]))
            self.ledger.report.note(f"{name} is read in more than two types: {planned.kind} stands for {rest}")

    def _symmetric(self, name: str, override: Override) -> bool:
        if "symmetric" in override:
            return bool(override["symmetric"])
        if not self.options[OrtOptions].activation_symmetric:
            return False
        if not self.options[CallOptions].use_unsigned_relu or not self._is_never_negative(name):
            return True
        kind = self.parameters.kind(override, self.settings.activation)
        # 0 on the lowest code of a signed type is a zero point of -128, which devices and formats without one lack.
        return (kind.is_signed and self.settings.settings.rules_hold) or not self.writer.has_zero_points

    def _is_never_negative(self, name: str) -> bool:
        node = self.graph.producer(name)
        if node is None or node.op_type not in CLAMP_OPS:
            return False
        return node.op_type == "Relu" or clip_limits(self.graph, node)[0] == 0

    def _share_ranges(self) -> None:
        """What saturates anyway needs no codes: the input of a Relu or Clip takes the range of its output."""
        for node in self.marks.nodes.values():
            if node.op_type in CLAMP_OPS and self.graph.sole_consumer(node.input[0]) is node:
                end = node.output[0]
                self.range_source[node.input[0]] = self.range_source.get(end, end)

    def _is_read(self, name: str) -> bool:
        return name in self.graph.outputs or bool(self.graph.consumers(name))

    def _is_data(self, name: str, role: Role) -> bool:
        return role is Role.WEIGHT or self.not_data.reason(name) is None

    def _has_a_pair(self, name: str) -> bool:
        """Whether the model came with the tensor's codes: from a dequantize node, or for quantize nodes alone."""
        producer, readers = self.graph.producer(name), self.graph.consumers(name)
        if producer is not None and producer.op_type.endswith(DEQUANTIZES):
            return True
        return bool(readers) and all(reader.op_type.endswith(QUANTIZES) for reader in readers)

    def _with_codes(self, name: str) -> TensorPlan | None:
        """The parameters of a weight that came as codes; None for others, and where blocks have scales."""
        stored = stored_codes(self.graph, name)
        if stored is None or stored.block_size or stored.kind is None:
            return None
        return TensorPlan(
            name, Role.WEIGHT, stored.kind, stored.scale, stored.zero_point, stored.axis, fixed=True, has_codes=True
        )

    def _constant_kind(self, name: str, role: Role) -> QType:
        readers = [node for node in self.graph.consumers(name) if node.name in self.marks.nodes]
        types = next((self.types.of(node) for node in readers), self.types.base)
        return types.weight if role is Role.WEIGHT else types.activation

    def _scale_transform(self) -> None:
        """Formats of scales (M / 2^N) are put on last, on every scale that is not a power of two."""
        for scale_format in self.settings.scale_formats():
            for planned in self.result:
                if planned.derived is None and planned.kind.is_integer:
                    planned.scale = scale_format(planned.scale)
                    self.result.record(planned.name, f"the scale was put into the format {scale_format.key}")
