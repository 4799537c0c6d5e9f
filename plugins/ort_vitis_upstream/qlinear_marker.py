"""Where quantized operators are written, onnxruntime marks other nodes than where pairs are.

Pad, GlobalAveragePool, ArgMax        only behind codes: alone they gain nothing
Sum, Min, Max                         never: no operator computes them on codes
AveragePool                           also at the start: its kernel on codes is the faster one
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Marker, QDQOperatorBase

if TYPE_CHECKING:
    from onnx import NodeProto

BEHIND_CODES = frozenset({"Pad", "GlobalAveragePool", "ArgMax"})
NOWHERE = frozenset({"Sum", "Min", "Max"})
ANYWHERE = frozenset({"AveragePool"})


class Unmarked(QDQOperatorBase):  # type: ignore[misc]
    """A node that marks nothing."""

    def quantize(self) -> None:
        return


class QLinearMarker(Marker):
    """Marks what onnxruntime's registry of quantized operators quantizes."""

    def handler(self, node: NodeProto) -> QDQOperatorBase:
        has_codes = self.is_tensor_quantized(node.input[0]) if node.input else False
        if node.op_type in NOWHERE or (node.op_type in BEHIND_CODES and not has_codes):
            return Unmarked(self, node)
        if node.op_type in ANYWHERE and not has_codes:
            self.quantize_activation_tensor(node.input[0])
        return super().handler(node)
