"""The output appears whole or not at all: a temporary file in the target folder, then one rename."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import EncodeError

from .errors import OutputError

if TYPE_CHECKING:
    from onnx import ModelProto

# Protobuf ends at 2^31 bytes; some room is left for the nodes.
LARGEST_FILE = 2_000_000_000


def model_size(model: ModelProto) -> int:
    """Bytes of the model; of one that protobuf cannot serialize (beyond 2 GB), those of its weights."""
    try:
        return int(model.ByteSize())
    except EncodeError:
        return max(LARGEST_FILE, sum(len(tensor.raw_data) for tensor in model.graph.initializer))


def save_model(model: ModelProto, path: Path, *, external_data: bool) -> None:
    """Write the model; with ``external_data`` (or beyond 2 GB) its weights go to ``<file>.data`` beside it."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            scratch = Path(folder) / path.name
            if external_data or model_size(model) >= LARGEST_FILE:
                copy = onnx.ModelProto()
                copy.CopyFrom(model)
                data = f"{path.name}.data"
                onnx.save_model(
                    copy, str(scratch), save_as_external_data=True, all_tensors_to_one_file=True, location=data
                )
                if (Path(folder) / data).exists():
                    os.replace(Path(folder) / data, path.parent / data)
            else:
                scratch.write_bytes(model.SerializeToString())
            os.replace(scratch, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            (path.parent / f".{path.name}").unlink(missing_ok=True)
        raise OutputError(f"the model cannot be written to {str(path)!r}: {error}") from error
