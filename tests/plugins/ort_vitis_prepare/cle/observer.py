"""What preparation makes of a model, caught on its way."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

from onnx import ModelProto

from ort_vitis_plugin.api import hookimpl


class Observer:
    """Keeps what preparation made."""

    model: ModelProto

    @hookimpl
    def vitis_stage_done(self, stage: str, value: Any) -> None:
        if stage == "prepare":
            self.model = ModelProto()
            self.model.CopyFrom(value.to_model())
