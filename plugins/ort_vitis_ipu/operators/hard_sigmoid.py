"""The DPU has one HardSigmoid, x / 6 + 0.5; any other stays float."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import OpQuantizer, QDQOperatorBase

from ..device_form import is_device_hard_sigmoid
from .operands import mark_data


class QDQHardSigmoid(QDQOperatorBase):  # type: ignore[misc]
    """Input and output, where alpha is 1/6 and beta 0.5."""

    def quantize(self) -> None:
        if is_device_hard_sigmoid(self.node):
            mark_data(self)


HARD_SIGMOID = OpQuantizer("HardSigmoid", QDQHardSigmoid, "ipu_cnn")
