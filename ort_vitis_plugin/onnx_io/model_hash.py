"""A model is known again by its content: the same nodes and weights, wherever the weights lie."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from onnx import TensorProto

from .external_weights import array_of
from .save import ends

if TYPE_CHECKING:
    from onnx import ModelProto


def model_hash(model: ModelProto) -> str:
    """``sha256:`` and 64 hexadecimal digits of all that is in the model, by values and not by how they are stored."""
    found = hashlib.sha256()
    for part in ends(model):
        found.update(part)
    for tensor in model.graph.initializer:
        found.update(f"\n{tensor.name} {tensor.data_type} {list(tensor.dims)}\n".encode())
        if tensor.data_type == TensorProto.STRING:
            found.update(b"\0".join(tensor.string_data))
        else:
            found.update(array_of(tensor).tobytes())
    return f"sha256:{found.hexdigest()}"
