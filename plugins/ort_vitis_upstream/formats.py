"""QuantizeLinear/DequantizeLinear pairs, and the quantized operators that onnxruntime has for them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Format, PlannedQDQQuantizer, QType, QuantFormat

if TYPE_CHECKING:
    from onnx import ModelProto

    from ort_vitis_plugin.api import Plan

NATIVE_BITS = (4, 8, 16)


def _native(kind: QType) -> bool:
    return kind.is_integer and kind.bits in NATIVE_BITS


def _eight_bits(kind: QType) -> bool:
    return kind.is_integer and kind.bits == 8


class QOperatorQuantizer(PlannedQDQQuantizer):
    """Pairs first, by the same plan; then each operator between them becomes its quantized form."""

    def emit(self, plan: Plan) -> ModelProto:
        from ort_vitis_plugin.convert import qdq_to_qoperator

        self.pairs = super().emit(plan)
        return qdq_to_qoperator(self.pairs, self.run.report.skips)


QDQ = Format(
    QuantFormat.QDQ, "Native QuantizeLinear and DequantizeLinear around float operators.", PlannedQDQQuantizer, _native
)
QOPERATOR = Format(QuantFormat.QOperator, "Quantized operators such as QLinearConv.", QOperatorQuantizer, _eight_bits)
