"""A model's hash follows from what it computes with, not from where its values are stored."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from ort_vitis_plugin.onnx_io.load import load_model
from ort_vitis_plugin.onnx_io.model_hash import model_hash
from ort_vitis_plugin.testing import graph


def model(value: float = 1.0) -> onnx.ModelProto:
    text = "t (float[1, 4] x) => (float[1, 4] y) { y = MatMul(x, w) }"
    return graph(text, constants={"w": np.full((4, 4), value, np.float32)})


def test_values_count_and_their_storage_does_not(tmp_path: Path) -> None:
    listed = model()
    listed.graph.initializer[0].CopyFrom(helper.make_tensor("w", TensorProto.FLOAT, [4, 4], [1.0] * 16))
    onnx.save(model(), tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    assert model_hash(model()) == model_hash(listed) == model_hash(load_model(tmp_path / "m.onnx"))
    assert model_hash(model()).startswith("sha256:")
    assert model_hash(model()) != model_hash(model(2.0))


def test_texts_count() -> None:
    made = []
    for word in (b"one", b"two"):
        named = model()
        named.graph.initializer.append(helper.make_tensor("s", TensorProto.STRING, [1], [word]))
        made.append(model_hash(named))
    assert len({*made, model_hash(model())}) == 3
