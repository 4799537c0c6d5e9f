"""QuantizeLinear/DequantizeLinear pairs, and the quantized operators that onnxruntime has for them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Format, PairWriter, QType, QuantFormat, Scaling

from .qlinear_marker import QLinearMarker

if TYPE_CHECKING:
    from onnx import ModelProto

    from ort_vitis_plugin.api import Skip

NATIVE_BITS = (4, 8, 16)


def _native(kind: QType) -> bool:
    return (kind.is_integer and kind.bits in NATIVE_BITS) or kind.scaling is Scaling.LINEAR


def _eight_bits(kind: QType) -> bool:
    return kind.is_integer and kind.bits == 8


class QOperatorWriter(PairWriter):
    """Pairs first, by the same plan; then each operator between them becomes its quantized form."""

    ignores = frozenset({"DedicatedQDQPair"})
    has_blocks = False
    writes_operators = True

    def finish(self, model: ModelProto, skips: list[Skip]) -> ModelProto:
        from ort_vitis_plugin.convert import qdq_to_qoperator

        return qdq_to_qoperator(model, skips)


QDQ = Format(QuantFormat.QDQ, "Native QuantizeLinear and DequantizeLinear around float operators.", PairWriter, _native)
QOPERATOR = Format(
    QuantFormat.QOperator, "Quantized operators such as QLinearConv.", QOperatorWriter, _eight_bits, QLinearMarker
)
