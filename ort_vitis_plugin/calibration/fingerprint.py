"""Two models are the same where they compute the same: names of files and of makers do not count."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
from pathlib import Path

import onnx
from onnx import ModelProto, TensorProto
from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

from ..onnx_io.external_weights import array_of, is_aside


def fingerprint(model: ModelProto | str | Path) -> str:
    """A digest of nodes, weights, inputs, outputs and opsets; the same for a path and its proto."""
    folder = None
    if not isinstance(model, ModelProto):
        folder = str(Path(model).resolve().parent)
        model = onnx.load(str(model), load_external_data=False)
    digest = hashlib.sha256()
    graph = model.graph
    for message in (*model.opset_import, *graph.input, *graph.output, *graph.node, *model.functions):
        digest.update(message.SerializeToString(deterministic=True))
    for tensor in graph.initializer:
        digest.update(f"{tensor.name} {tensor.data_type} {list(tensor.dims)} ".encode())
        if uses_external_data(tensor) and not is_aside(tensor):
            if folder is None:
                digest.update(str(tensor.external_data).encode())
                continue
            loaded = TensorProto()
            loaded.CopyFrom(tensor)
            load_external_data_for_tensor(loaded, folder)
            tensor = loaded
        if tensor.data_type == TensorProto.STRING:
            digest.update(repr(list(tensor.string_data)).encode())
        else:
            digest.update(array_of(tensor).tobytes())
    return digest.hexdigest()
