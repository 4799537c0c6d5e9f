"""Block types need no data: a preset and a model are enough."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime.quantization
import pytest
from onnx import numpy_helper

from ort_vitis_block.presets import PRESETS
from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.data_readers import RandomDataReader
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import LEVELS, graph, run_model
from tests.models.pooled_classifier import constants, pooled_classifier
from tests.models.serialized import without_provenance

RNG = np.random.default_rng(1)
LEAST = {"BFP16": 32, "MX9": 36, "MX6": 18, "MXINT8": 32, "MXFP8": 20, "MXFP4": 8, "BF16_BFP16": 32}
MODEL = pooled_classifier(constants(RNG), batch=2)
FEED = {"x": RNG.normal(size=(2, 4, 8, 8)).astype(np.float32)}


@pytest.mark.parametrize("preset", [preset.name for preset in PRESETS])
def test_a_preset_needs_no_data(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomDataReader, "get_next", lambda self: pytest.fail("random data were run"))
    result = quantize_static(MODEL, None, None, extra_options={"Preset": preset})
    assert any("needs no calibration data" in note for note in result.report.notes)
    assert result.report.sqnr == {}
    exact = run_model(MODEL, FEED, LEVELS[0])["y"]
    for level in LEVELS:
        assert sqnr_db(exact, run_model(result.model, FEED, level)["y"]) > LEAST[preset]


@pytest.mark.parametrize("preset", ["BFP16", "MXINT8"])
def test_data_change_nothing_but_the_report(preset: str) -> None:
    without = quantize_static(MODEL, None, None, extra_options={"Preset": preset})
    with_data = quantize_static(MODEL, None, [FEED], extra_options={"Preset": preset})
    assert without_provenance(with_data.model) == without_provenance(without.model)
    assert with_data.report.sqnr["y"] > LEAST[preset]


@pytest.mark.parametrize("preset", [preset.name for preset in PRESETS])
def test_channels_are_equalized_first(preset: str) -> None:
    skewed = onnx.ModelProto()
    skewed.CopyFrom(MODEL)
    factors = np.float32(2.0) ** np.arange(-8, 8, dtype=np.float32)
    for tensor in skewed.graph.initializer:
        shape = {"w": (16, 1, 1, 1), "b": (16,), "v": (16, 1)}.get(tensor.name)
        if shape is not None:
            array = numpy_helper.to_array(tensor)
            scaled = array / factors.reshape(shape) if tensor.name == "v" else array * factors.reshape(shape)
            tensor.CopyFrom(numpy_helper.from_array(scaled.astype(np.float32), tensor.name))
    exact = run_model(MODEL, FEED, LEVELS[0])["y"]
    found = [
        sqnr_db(
            exact, run_model(quantize_static(skewed, None, None, extra_options=options).model, FEED, LEVELS[0])["y"]
        )
        for options in ({"Preset": preset}, {"Preset": preset, "IncludeCLE": False})
    ]
    assert found[0] > LEAST[preset]
    assert found[0] > found[1] + 2  # MXFP8, whose elements have exponents of their own, gains least


def test_what_the_caller_gives_wins() -> None:
    result = quantize_static(MODEL, None, None, weight_type="QMX9", extra_options={"Preset": "BFP16"})
    assert (result.report.types["x"], result.report.types["w"]) == ("QBFP16", "QMX9")


def test_integers_still_need_data() -> None:
    result = quantize_static(MODEL, None, None, extra_options={"Preset": "BFP16", "MixedTypes": {"Conv": "QInt8"}})
    assert any("random data" in note for note in result.report.notes)


def test_bfloat16_and_blocks_meet_without_a_pair_too_many() -> None:
    result = quantize_static(MODEL, None, None, extra_options={"Preset": "BF16_BFP16"})
    kinds = result.report.types
    assert {kinds[name] for name in ("x", "w", "f", "v")} == {"QBFP16"}
    assert {kinds[name] for name in ("r", "p", "y")} == {"QBFloat16"}
    read = [name for node in result.model.graph.node for name in node.input]
    pairs = [node for node in result.model.graph.node if node.op_type.endswith("FixNeuron")]
    assert len(pairs) == 4
    assert all(read.count(node.output[0]) == 1 for node in pairs)


def test_bodies_need_no_data_either() -> None:
    text = """
    t (float[3, 16] x, bool c) => (float[3, 12] y) {
      y = If(c) <
        then_branch = a () => (float[3, 12] p) { p = MatMul(x, w) },
        else_branch = b () => (float[3, 12] q) { m = MatMul(x, w) q = Neg(m) }>
    }
    """
    model = graph(text, 18, {"w": RNG.normal(size=(16, 12)).astype(np.float32)})
    options = {"Preset": "BFP16", "EnableSubgraph": True}
    feed = {"x": RNG.normal(size=(3, 16)).astype(np.float32), "c": np.array(True)}
    without, with_data = (
        quantize_static(model, None, data, extra_options=options).model
        for data in (None, [feed, {**feed, "c": ~feed["c"]}])
    )
    assert [function.name for function in without.functions] == ["BFPFixNeuron"]
    expected, found = (run_model(each, feed, LEVELS[0])["y"] for each in (with_data, without))
    np.testing.assert_array_equal(found, expected)


def test_onnxruntimes_door_needs_none_either(tmp_path: Path) -> None:
    onnx.save(MODEL, tmp_path / "m.onnx")
    paths = tmp_path / "m.onnx", tmp_path / "q.onnx"
    onnxruntime.quantization.quantize_static(*paths, None, extra_options={"Preset": "BFP16"})
    ours = quantize_static(MODEL, None, None, extra_options={"Preset": "BFP16"}).model
    assert without_provenance(onnx.load(paths[1])) == without_provenance(ours)


def test_a_mask_is_known_without_data() -> None:
    """Else it shares an exponent with the scores, and they are all zero beside it."""
    text = """
    t (float[1, 2, 8, 8] x, int64[1, 1, 1, 8] kept) => (float[1, 2, 8, 8] y) {
      m = Cast<to = 1>(kept)
      away = Sub(one, m)
      mask = Mul(away, low)
      s = MatMul(x, w)
      a = Add(s, mask)
      p = Softmax(a)
      y = MatMul(p, w)
    }
    """
    constants = {"one": np.float32(1), "low": np.float32(-1e9), "w": RNG.normal(size=(8, 8)).astype(np.float32)}
    model = graph(text, 17, constants)
    result = quantize_static(model, None, None, extra_options={"Preset": "BFP16"})
    assert {"mask", "a"} <= set(result.report.not_data)
    assert "s" not in result.report.not_data
    kept = np.array([1, 1, 1, 1, 1, 0, 1, 0]).reshape(1, 1, 1, 8)
    feed = {"x": RNG.normal(size=(1, 2, 8, 8)).astype(np.float32), "kept": kept}
    exact, found = (run_model(each, feed, LEVELS[0])["y"] for each in (model, result.model))
    assert sqnr_db(exact, found) > 30
