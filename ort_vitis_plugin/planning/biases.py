"""A bias has the scale of the product that it is added to, in 32 bits, or parameters of its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..custom_ops.received_codes import received_codes
from ..numerics.qtypes import INT32, host_qtype
from ..options.ort_options import OrtOptions
from ..plan import Bound, Int32Bias, Plan, Role, TensorPlan
from ..plan.int32_bias import by_channel, int32_bias_positions, int32_bias_scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..plan.marks import Marks
    from ..request.call import Call
    from ..request.ledger import Ledger
    from ..selection.masks_and_fills import NotData
    from .constants import Constants


class Biases:
    """Adds the biases of a plan whose activations and weights are there."""

    def __init__(self, marks: Marks, plan: Plan, constants: Constants, settings: Call, ledger: Ledger) -> None:
        self.marks, self.result, self.constants = marks, plan, constants
        self.parameters = constants.parameters
        self.settings, self.ledger = settings, ledger

    def plan(self, not_data: NotData) -> None:
        """Every marked bias that is data."""
        for name, mark in self.marks.biases.items():
            if not_data.reason(name) is not None:
                continue
            self._receive(mark.x)
            x, w = self.result.read_by(mark.node, mark.x), self.result.of(mark.w)
            weight = w.kind if w is not None else self.settings.weight
            writer, override = self.parameters.writer, self.parameters.override(name)
            if not override and writer.has_product_bias(weight) and not self._stays_float:
                if x is not None and w is not None and x.kind.is_integer and not w.block_size:
                    self._int32_bias(name, replace(mark, x=x.name, w=w.name), x, w)
                continue
            kind = writer.bias_kind(weight)
            if kind is not None or override:
                self.result.tensors[name] = self.constants.of(name, Role.BIAS, kind or weight)

    def _receive(self, name: str) -> None:
        """An activation without a pair of ours may come as codes; a product of them has their scale."""
        given = None if name in self.result else received_codes(self.marks.graph, name)
        if given is not None:
            kind = host_qtype(given.element_type)
            self.result.received[name] = TensorPlan(
                name, Role.ACTIVATION, kind, given.scale, given.zero_point, fixed=True, has_codes=True
            )

    @property
    def _stays_float(self) -> bool:
        """Whether biases get pairs as weights do: with positions a pair behind weights is one behind biases too."""
        return bool(self.settings.method.power_of_two and self.settings.options[OrtOptions].add_qdq_pair_to_weight)

    def _int32_bias(self, name: str, derived: Int32Bias, x: TensorPlan, w: TensorPlan) -> None:
        array = self.parameters.finite(name)
        planned = TensorPlan(name, Role.BIAS, INT32, x.scale, np.zeros((), np.int64), derived=derived)
        self.result.tensors[name] = planned
        if x.position is not None and w.position is not None:
            highest = int32_bias_positions(array)
            if highest is not None:
                wpos = self.result.position(w.name)
                is_converted = x is not self.result.of(x.name)
                total = wpos + (x.position if is_converted else self.result.position(x.name))
                self.result.bounds.append(
                    Bound(total, high=highest, prefer=wpos, soft=False, rule="Int32Bias", node=derived.node)
                )
        elif not self.settings.options[OrtOptions].qdq_disable_weight_adjust_for_int32_bias:
            self._enlarge(array, derived, x, w)

    def _enlarge(self, bias: NDArray[Any], derived: Int32Bias, x: TensorPlan, w: TensorPlan) -> None:
        """A weight scale grows where x * w would be too small a scale for its bias."""
        scale = np.asarray(x.scale, np.float64) * w.scale * derived.beta
        reach = np.abs(bias.astype(np.float64))
        if scale.ndim == 1:
            reach = by_channel(reach, scale.size).reshape(-1, scale.size).max(axis=0)
        factor = int32_bias_scale(reach, scale)
        if self.settings.method.power_of_two:
            factor = np.exp2(np.ceil(np.log2(factor)))
        if (factor > 1).any():
            low = (w.kind.min - w.zero_point) * w.scale.astype(np.float64)
            w.scale = np.asarray(w.scale * factor, dtype=np.float32)
            if w.zero_point.any() and w.axis is None:  # the channels of a weight have one zero point
                w.zero_point = np.clip(np.rint(w.kind.min - low / w.scale), w.kind.min, w.kind.max).astype(np.int64)
            self.result.record(w.name, f"the scale was enlarged so that the int32 bias of {derived.node} fits")
            self.ledger.report.note(f"the scale of {w.name} was enlarged so that the int32 bias of {derived.node} fits")
