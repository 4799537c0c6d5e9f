"""A model's file appears whole or not at all."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from onnx import ModelProto


def write_model(model: ModelProto, path: Path) -> Path:
    """Write ``model`` to ``path`` through a file beside it; returns the path."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(model.SerializeToString())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return path
