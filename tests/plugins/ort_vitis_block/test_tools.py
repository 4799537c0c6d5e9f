"""What reads quantized models reads those in blocks: dumps, comparisons, errors by layer, conversions."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from ort_vitis_block import BLOCK_TYPES
from ort_vitis_plugin import dump_model, evaluate, quantize_static, tune
from ort_vitis_plugin.convert.to_float import quantized_to_float
from ort_vitis_plugin.custom_ops import find_library
from ort_vitis_plugin.measure.evaluate import compare
from ort_vitis_plugin.measure.layer_errors import layer_errors
from ort_vitis_plugin.pipeline.validation import AlreadyQuantizedWarning
from ort_vitis_plugin.testing import LEVELS, graph, run_model

RNG = np.random.default_rng(2)
W = RNG.normal(size=(16, 8)).astype(np.float32)
TEXT = "t (float[3, 16] x) => (float[3, 8] y) { h = MatMul(x, w) r = Relu(h) y = Softmax(r) }"
MODEL = graph(TEXT, 18, {"w": W})
FEEDS = [{"x": RNG.normal(size=(3, 16)).astype(np.float32)} for _ in range(2)]
SAMPLES = [{"x": RNG.normal(size=(3, 16)).astype(np.float32)} for _ in range(8)]
TYPES = ("activation_type", "weight_type")


def quantized(preset: str = "BFP16", **options: Any) -> onnx.ModelProto:
    return quantize_static(MODEL, None, FEEDS, extra_options={"Preset": preset, **options}).model


def without_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """As another tool writes it, for its own library."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.functions[:]
    return bare


@pytest.mark.parametrize("quark", [False, True])
def test_a_dump_holds_the_values_of_every_pair(tmp_path: Path, quark: bool) -> None:
    model = quantized(UseQuarkOps=quark)
    dump_model(without_functions(model), FEEDS, output_dir=tmp_path)
    index = {entry["tensor"]: entry for entry in json.loads((tmp_path / "index.json").read_text())}
    entry = index["x_DequantizeLinear_Output"]
    assert (entry["dtype"], entry["block_size"], entry["bit_width"], entry["axis"]) == ("float32", 8, 16, 1)
    values = np.fromfile(tmp_path / entry["file"], np.float32).reshape(entry["shape"])
    np.testing.assert_array_equal(values, BLOCK_TYPES["QBFP16"].quantize_dequantize(FEEDS[0]["x"], 1))
    weight = index["w_DequantizeLinear_Output"]
    values = np.fromfile(tmp_path / weight["file"], np.float32).reshape(weight["shape"])
    np.testing.assert_array_equal(values, BLOCK_TYPES["QBFP16"].quantize_dequantize(W, 0))


@pytest.mark.parametrize("preset", ["BFP16", "MXINT8"])
def test_files_without_functions_run_without_the_library(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = quantized(preset)
    expected = compare(MODEL, model, FEEDS)
    monkeypatch.setattr("ort_vitis_plugin.custom_ops.library.find_library", lambda: None)
    assert compare(MODEL, without_functions(model), FEEDS) == expected
    assert [error.tensor for error in layer_errors(MODEL, without_functions(model), FEEDS)]


def test_errors_by_layer_name_the_tensors() -> None:
    found = {error.tensor: error for error in layer_errors(MODEL, quantized(), FEEDS)}
    assert set(found) == {"x", "w", "r"}
    assert all(30 < error.alone < 60 for error in found.values())


@pytest.mark.parametrize("quark", [False, True])
def test_back_to_float(quark: bool) -> None:
    result = quantized_to_float(quantized(UseQuarkOps=quark))
    assert [node.op_type for node in result.graph.node] == ["MatMul", "Relu", "Softmax"]
    assert not result.functions
    assert {entry.domain for entry in result.opset_import} == {""}
    expected, found = (run_model(model, FEEDS[0], LEVELS[0])["y"] for model in (MODEL, result))
    np.testing.assert_array_equal(found, expected)


def test_evaluate_tells_a_model_in_blocks_from_float() -> None:
    result = evaluate(MODEL, without_functions(quantized("MX6")), FEEDS)
    assert 15 < result.outputs["y"].sqnr < 30


def test_the_report_tells_of_blocks() -> None:
    report = quantize_static(MODEL, None, FEEDS, extra_options={"Preset": "MX9"}).report
    assert {name: story.type for name, story in report.tensors.items() if story.type} == dict.fromkeys("xwr", "QMX9")
    assert list(report.quantized.values()) == ["MatMul", "Relu"]
    assert 30 < report.sqnr["y"] < 60


def test_as_few_tensors_as_the_goal_needs_get_finer_blocks() -> None:
    for first, finer, types in (("MX6", "QMX9", {}), ("BFP16", "QBFP16", dict.fromkeys(TYPES, "QInt8"))):
        base = tune(MODEL, SAMPLES, target=first, goal=0.0, budget="1m", **types).best.score
        assert base is not None
        tuned = tune(MODEL, SAMPLES, target=first, types=[finer], goal=base + 3, keep_on_device=0, budget="1m", **types)
        assert tuned.reached
        overrides = tuned.configuration["extra_options"]["TensorQuantOverrides"]
        assert 0 < len(overrides) < 3
        assert all(entry == [{"quant_type": finer}] for entry in overrides.values())


def test_a_search_tries_no_ranges_where_types_have_none() -> None:
    tuned = tune(MODEL, SAMPLES, target="MXINT8", goal=200.0, budget="1m")
    tried = [row.what for row in tuned.trials]
    assert tried[0] == "as asked for"
    assert not [what for what in tried if what.startswith(("method ", "weights by channel"))]
    assert tuned.best.score is not None
    assert tuned.best.score > 35


def test_a_model_in_blocks_is_quantized_already() -> None:
    with pytest.warns(AlreadyQuantizedWarning):
        quantize_static(quantized("MXFP8"), None, FEEDS)


@pytest.mark.skipif(find_library() is None, reason="the library was not built")
def test_library_and_functions_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    model = quantized("MX9")
    with_library = compare(MODEL, model, FEEDS)
    monkeypatch.setattr("ort_vitis_plugin.custom_ops.library.find_library", lambda: None)
    assert compare(MODEL, model, FEEDS) == with_library
