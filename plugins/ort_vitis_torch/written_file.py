"""A model's file appears whole or not at all."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

from onnx import ModelProto

from ort_vitis_plugin.api import save_model


def write_model(model: ModelProto, path: Path) -> Path:
    """Write ``model`` to ``path``; returns the path.

    Raises:
        OutputError: it cannot be written.
    """
    save_model(model, path, external_data=False)
    return path
