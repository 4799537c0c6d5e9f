"""The slope of a PRelu is a weight."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import OpQuantizer, QDQOperatorBase

from .operands import mark_data, mark_operand


class QDQPRelu(QDQOperatorBase):  # type: ignore[misc]
    """Input, slope and output."""

    def quantize(self) -> None:
        mark_data(self)
        mark_operand(self, self.node.input[1])


PRELU = OpQuantizer("PRelu", QDQPRelu, "ipu_cnn")
