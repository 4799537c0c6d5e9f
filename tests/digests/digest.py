"""Two files hold the same model when their messages, tensors included, serialize to the same bytes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import re
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

if TYPE_CHECKING:
    from .case import Case

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_FILE_NAME = re.compile(r"[^A-Za-z0-9.,=+-]+")


def file_name(key: str) -> str:
    """A file name for the case's model, readable and different for each key."""
    short = hashlib.sha256(key.encode()).hexdigest()[:6]
    return f"{_FILE_NAME.sub('_', key)[:120]}.{short}.onnx"


def digest(case: Case, keep: Path | None = None) -> str:
    """SHA-256 of the case's quantized model, or type and first line of its error; ``keep`` gets the model."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = onnx.load(case.run(Path(folder)))  # with external data
        except Exception as error:
            first = str(error).strip().partition("\n")[0]
            # Temporary folders and addresses of objects differ from run to run.
            return f"{type(error).__name__}: {_ADDRESS.sub('0x', first.replace(folder, 'FOLDER'))}"
    for tensor in model.graph.initializer:
        tensor.ClearField("data_location")  # onnx.load leaves the default spelled out where data lay outside
    content = model.SerializeToString(deterministic=True)
    if keep:
        (keep / file_name(case.key)).write_bytes(content)
    return hashlib.sha256(content).hexdigest()
