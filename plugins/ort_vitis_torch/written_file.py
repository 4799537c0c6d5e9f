"""The files of a quantized model; each appears whole or not at all."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
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


def write_exported(model: ModelProto, folder: Path, name: str, *, native_onnx: bool) -> Path:
    """Write ``<name>.onnx``, and the same as ``<name>_int.onnx``, into a folder; returns the former's path.

    ``native_onnx=False`` writes Vitis operators in place of ONNX's own pairs.
    """
    if not native_onnx:
        from ort_vitis_plugin.convert import standard_to_vitis

        model = standard_to_vitis(model)
    folder.mkdir(parents=True, exist_ok=True)
    write_model(model, folder / f"{name}_int.onnx")
    return write_model(model, folder / f"{name}.onnx")


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
