"""A hash follows values, not the way in which they are stored."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ort_vitis_plugin.onnx_io import external_weights
from ort_vitis_plugin.onnx_io.model_hash import model_hash
from ort_vitis_plugin.testing import graph

W = np.arange(40_000, dtype=np.float32)


def model(w: np.ndarray = W) -> ModelProto:
    return graph("t (float[40000] x) => (float[40000] y) { y = Add(x, w) }", constants={"w": w})


def test_the_same_values_stored_otherwise_have_the_same_hash() -> None:
    typed = model()
    typed.graph.initializer[0].CopyFrom(helper.make_tensor("w", TensorProto.FLOAT, W.shape, W))
    assert model_hash(typed) == model_hash(model())
    with external_weights.external_weights_scope():
        aside = external_weights.externalize(model())
        assert not aside.graph.initializer[0].raw_data
        assert model_hash(aside) == model_hash(model())


def test_whatever_differs_gives_another_hash() -> None:
    renamed, other_type, other_node, words = model(), model(), model(), model()
    renamed.graph.node[0].name = "other"
    other_type.graph.initializer[0].CopyFrom(numpy_helper.from_array(W.astype(np.int32), "w"))
    other_node.graph.node[0].op_type = "Sub"
    words.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array(["a", "b"], object), "w"))
    found = {model_hash(each) for each in (model(), model(W + 1), renamed, other_type, other_node, words)}
    assert len(found) == 6
    assert all(each.startswith("sha256:") and len(each) == 71 for each in found)
