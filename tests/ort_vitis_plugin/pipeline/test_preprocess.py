"""quant_pre_process as a step of the call."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.pipeline.preprocess import preprocess
from ort_vitis_plugin.testing import graph
from tests.models import networks

if TYPE_CHECKING:
    from pathlib import Path

DYNAMIC = 't (float["N", 8] x) => (float["N", 4] y) { y = MatMul(x, w) }'


def test_the_argument_stays_and_the_function_too() -> None:
    model = onnx.load(networks.network("halves"))
    before = model.SerializeToString()
    prepared = preprocess(model)
    assert model.SerializeToString() == before
    assert sum(node.op_type == "BatchNormalization" for node in prepared.graph.node) < sum(
        node.op_type == "BatchNormalization" for node in model.graph.node
    )
    feed = networks.digits("halves", 1, 1).evaluation[0]
    wanted, found = (ort.InferenceSession(proto.SerializeToString()).run(None, feed)[0] for proto in (model, prepared))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.option("Preprocess")
def test_the_option_runs_it() -> None:
    """Preprocessing marks the model; the mark shows that it ran."""
    seen = []

    model = graph(DYNAMIC, constants={"w": np.ones((8, 4), np.float32)})
    feeds = [{"x": np.ones((2, 8), np.float32)}]
    for asked in (False, True):
        result = quantize_static(model, None, feeds, extra_options={"Preprocess": asked})
        seen.append(any(entry.key == "onnx.quant.pre_process" for entry in result.model.metadata_props))
    assert seen == [False, True]


def test_a_model_that_it_cannot_take_is_a_model_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = graph(DYNAMIC, constants={"w": np.ones((8, 4), np.float32)})
    model.graph.node[0].op_type = "NoSuchOperator"
    with pytest.raises(ModelError, match="quant_pre_process"):
        preprocess(model)
    assert not list(tmp_path.iterdir())
