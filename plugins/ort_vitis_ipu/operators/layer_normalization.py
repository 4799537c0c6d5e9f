"""LayerNormalization on the NPU keeps scale and bias in eight bits, each with a position of its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import OpQuantizer, QDQOperatorBase

from .operands import mark_data, mark_operand


class QDQLayerNormalization(QDQOperatorBase):  # type: ignore[misc]
    """Input, scale, bias (which may be missing) and output; mean and deviation stay float."""

    def quantize(self) -> None:
        mark_data(self)
        for operand in self.node.input[1:]:
            if operand:
                mark_operand(self, operand)


LAYER_NORMALIZATION = OpQuantizer("LayerNormalization", QDQLayerNormalization, "ipu_cnn")
