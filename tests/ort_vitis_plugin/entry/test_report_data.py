"""What a report shows is plain data after a schema: layers, ranges, the graph in order, trials."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.entry.report_data import report_data
from ort_vitis_plugin.report.page import TEMPLATE
from ort_vitis_plugin.testing import graph
from tests.models import networks
from tests.zoo.configurations import NPU_CNN

TRIALS = [
    {
        "what": name,
        "configuration": {},
        "score": score,
        "gain": None,
        "on_device": 3,
        "size": 10,
        "seconds": 0.1,
        "failure": "",
    }
    for name, score in (("<first>", 1.5), ("second", None))
]


@cache
def data() -> dict[str, Any]:
    result = quantize_static(networks.network("digits"), None, networks.reader("digits", 8), **NPU_CNN)
    return report_data(networks.network("digits"), result, networks.reader("digits", 8), TRIALS, **NPU_CNN)


def test_the_data_keep_to_their_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(TEMPLATE.with_name("report.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(json.dumps(data(), allow_nan=False)), schema)


def test_what_decodes_a_weight_is_no_node_of_the_graph() -> None:
    text = "t (float[2, 8] x) => (float[2, 6] y) { w = DequantizeLinear(c, s) [product] y = MatMul(x, w) }"
    feeds = [{"x": np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)}]
    codes = np.arange(-24, 24, dtype=np.int8).reshape(8, 6)
    model = graph(text, 17, {"c": codes, "s": np.float32(0.02).reshape(())})
    found = report_data(model, quantize_static(model, None, feeds), feeds)
    assert [(node["name"], node["state"]) for node in found["nodes"]] == [("product", "quantized")]


def test_the_data_tell_layers_ranges_and_the_graph_in_order() -> None:
    layers = {layer["tensor"]: layer for layer in data()["layers"]}
    image = layers["image"]
    assert image["range"]["position"] is not None
    assert sum(image["distribution"]["counts"]) > 0
    assert any(layer["weights"] is not None for layer in layers.values())
    states = {node["state"] for node in data()["nodes"]}
    assert "quantized" in states
