"""Block formats are written with the axis that each reader sums over, and compute what numpy computes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pluggy
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod

from ort_vitis_block import BLOCK_TYPES, BlockType, quantized_type
from ort_vitis_plugin import VitisQuantFormat, VitisQuantType, quantize_static
from ort_vitis_plugin.api import Declaration, hookimpl
from ort_vitis_plugin.convert.op_domains import rename_ops
from ort_vitis_plugin.errors import MissingPluginError, UnsupportedError
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.options.options import OptionWarning
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import LEVELS, graph, run_model
from tests.plugins.ort_vitis_finetune.test_bias_correction import convolution, samples

RNG = np.random.default_rng(0)
OPS = ("BFPFixNeuron", "MXFixNeuron", "BFPQuantizeDequantize", "MXQuantizeDequantize")


def normal(*shape: int) -> NDArray[np.float32]:
    return RNG.normal(size=shape).astype(np.float32)


W1, B1, W2 = normal(40, 24), normal(24), normal(24, 7) * 40
# Rows of very different sizes: what one scale for a tensor would lose.
FEEDS = [{"x": (normal(3, 40) * [[1e-3], [1], [1e3]]).astype(np.float32)} for _ in range(2)]


def two_products(opset: int = 18) -> onnx.ModelProto:
    text = "t (float[3, 40] x) => (float[3, 7] y) { h = Gemm(x, w1, b1) r = Relu(h) y = MatMul(r, w2) }"
    return graph(text, opset, {"w1": W1, "b1": B1, "w2": W2})


def arguments(kind: str) -> dict[str, Any]:
    is_mx = kind in BLOCK_TYPES and BLOCK_TYPES[kind].is_mx
    quant_format = VitisQuantFormat.MXFixNeuron if is_mx else VitisQuantFormat.BFPFixNeuron
    return {"quant_format": quant_format, "activation_type": kind, "weight_type": kind}


def quantized(model: onnx.ModelProto, kind: str = "QBFP16", feeds: Any = FEEDS, **more: Any) -> Any:
    options = {key: more.pop(key) for key in list(more) if key[0].isupper()}
    return quantize_static(model, None, feeds, extra_options=options, **arguments(kind) | more)


def block_nodes(model: onnx.ModelProto) -> list[NodeProto]:
    return [node for node in model.graph.node if node.op_type in OPS]


def axes(model: onnx.ModelProto) -> dict[str, list[int]]:
    """The axes of the pairs of each tensor, those of one with the same name in order."""
    found: dict[str, list[int]] = {}
    for node in block_nodes(model):
        axis = next(entry.i for entry in node.attribute if entry.name == "axis")
        found.setdefault(node.input[0].removesuffix("_QuantizeLinear_Input"), []).append(axis)
    return found


@pytest.mark.parametrize("kind", BLOCK_TYPES)
def test_the_model_computes_what_numpy_computes(kind: str) -> None:
    q = BLOCK_TYPES[kind].quantize_dequantize
    result = quantized(two_products(), kind).model
    onnx.checker.check_model(result, full_check=True)
    assert len(block_nodes(result)) == 4
    assert sorted(tensor.name for tensor in result.graph.initializer) == ["b1", "w1", "w2"]
    for feed in FEEDS:
        hidden = q(feed["x"], 1) @ q(W1, 0) + B1
        wanted = q(np.maximum(hidden, 0), 1) @ q(W2, 0)
        for level in LEVELS:
            found = run_model(result, feed, level)["y"]
            # One step of a block where the sums of Gemm round otherwise; else nothing.
            assert np.mean(np.isclose(found, wanted, rtol=1e-5)) > 0.8
            assert sqnr_db(wanted, found) > sqnr_db(run_model(two_products(), feed, LEVELS[0])["y"], wanted)


@pytest.mark.parametrize(("kind", "least"), [("QBFP16", 30), ("QMX9", 30), ("QMXINT8", 30), ("QMXFP8E4M3", 18)])
def test_small_rows_keep_their_accuracy(kind: str, least: float) -> None:
    """Where one scale for the tensor would lose them."""
    result = quantized(two_products(), kind).model
    exact, found = (run_model(model, FEEDS[0], LEVELS[0])["y"] for model in (two_products(), result))
    assert min(sqnr_db(row, other) for row, other in zip(exact, found, strict=True)) > least - 5
    assert sqnr_db(exact, found) > least


def test_each_reader_has_the_axis_that_it_sums_over() -> None:
    text = """
    t (float[2, 8, 6, 6] x, float[12, 16] g) => (float[2, 8, 6, 6] s, float[9, 12] y, float[2, 5, 12, 12] u) {
      a = Conv(x, w)
      s = Softmax<axis = 2>(a)
      y = Gemm<transA = 1, transB = 1>(h, g)
      u = ConvTranspose(s, v)
    }
    """
    constants = {"w": normal(8, 8, 1, 1), "v": normal(8, 5, 7, 7), "h": normal(16, 9)}
    model = graph(text, 18, constants)
    feeds = [{"x": normal(2, 8, 6, 6), "g": normal(12, 16)}]
    found = axes(quantized(model, feeds=feeds).model)
    assert found == {"x": [1], "w": [1], "a": [2], "s": [1], "v": [0], "h": [0], "g": [1]}


def test_readers_that_differ_get_a_pair_each() -> None:
    text = """
    t (float[4, 5, 5] x) => (float[4, 5, 5] y, float[4, 5, 5] z) {
      t = MatMul(x, x)
      y = Add(t, x)
      z = Softmax<axis = 0>(x)
    }
    """
    model = graph(text, 18)
    feeds = [{"x": normal(4, 5, 5) * np.float32([1, 30, 1, 1, 100])}]
    result = quantized(model, feeds=feeds).model
    assert sorted(axes(result)["x"]) == [0, 1, 2]
    q = BLOCK_TYPES["QBFP16"].quantize_dequantize
    x = feeds[0]["x"]
    first = next(node.output[0] for node in block_nodes(result) if node.input[0] == "x")
    assert [name for node in result.graph.node if node.op_type == "Add" for name in node.input][1] == first
    product = q(np.matmul(q(x, 2), q(x, 1)), -1)
    np.testing.assert_allclose(run_model(result, feeds[0], LEVELS[0])["y"], product + q(x, 2), rtol=1e-2)


def test_weights_are_rounded_for_each_reader() -> None:
    text = """
    t (float[2, 16] x) => (float[2, 16] y) {
      h = MatMul(x, w)
      y = Gemm<transB = 1>(h, w)
    }
    """
    model = graph(text, 18, {"w": normal(16, 16)})
    feeds = [{"x": normal(2, 16)}]
    assert axes(quantized(model, feeds=feeds).model)["w"] == [1, 0]
    folded = quantized(model, feeds=feeds, FoldConstantBlocks=True).model
    assert "w" not in axes(folded)
    expected, found = (
        run_model(quantized(model, feeds=feeds, FoldConstantBlocks=folds).model, feeds[0], LEVELS[0])["y"]
        for folds in (False, True)
    )
    np.testing.assert_array_equal(found, expected)
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in folded.graph.initializer}
    assert len(stored) == 2


@pytest.mark.parametrize("kind", ["QBFP16", "QMX6", "QMXINT8"])
@pytest.mark.parametrize("correction", ["FastFinetune", "BiasCorrection"])
def test_corrections_find_the_same_beside_folded_weights(kind: str, correction: str) -> None:
    model = convolution(1)
    feeds = samples(model)
    plain, folded = (
        quantized(model, kind, feeds, **{correction: True, "FoldConstantBlocks": folds}) for folds in (False, True)
    )
    assert plain.report.transforms[correction] == folded.report.transforms[correction] == 1
    assert (list(axes(plain.model)), list(axes(folded.model))) == (["x", "w"], ["x"])
    expected, found = (run_model(each.model, feeds[0], LEVELS[0])["y"] for each in (plain, folded))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["QBFP16", "QMX6", "QMXFP4"])
def test_quark_spelling_is_the_same_model(kind: str) -> None:
    vitis, quark = (quantized(two_products(), kind, UseQuarkOps=asked).model for asked in (False, True))
    assert {node.domain for node in block_nodes(quark)} == {"com.amd.quark"}
    assert {entry.domain for entry in quark.opset_import} == {"", "com.amd.quark"}
    for model in (vitis, quark, rename_ops(vitis, "com.amd.quark"), rename_ops(quark, "com.vai.quantize")):
        expected, found = (run_model(each, FEEDS[0], LEVELS[0])["y"] for each in (vitis, model))
        np.testing.assert_array_equal(found, expected)
    names = [node.op_type for node in rename_ops(quark, "com.vai.quantize").graph.node]
    assert names == [node.op_type for node in vitis.graph.node]


def test_opsets_too_low_are_raised() -> None:
    result = quantized(two_products(11)).model
    assert min(entry.version for entry in result.opset_import if entry.domain == "") >= 14
    assert run_model(result, FEEDS[0], LEVELS[0])["y"].shape == (3, 7)


@pytest.mark.parametrize("method", [CalibrationMethod.MinMax, CalibrationMethod.Percentile], ids=str)
def test_the_method_does_not_matter(method: CalibrationMethod) -> None:
    expected, found = (
        run_model(quantized(two_products(), **more).model, FEEDS[0], LEVELS[0])["y"]
        for more in ({}, {"calibrate_method": method})
    )
    np.testing.assert_array_equal(found, expected)


def test_options_on_scales_are_said_to_have_no_meaning_once() -> None:
    with pytest.warns(OptionWarning, match="ActivationSymmetric, per_channel: without meaning for QBFP16") as caught:
        quantized(two_products(), ActivationSymmetric=True, per_channel=True)
    assert len(caught) == 1


def test_lengths_that_blocks_do_not_fill_are_said() -> None:
    notes = quantized(two_products(), "QMXINT8").report.notes
    found = [note for note in notes if "padded" in note]
    assert len(found) == 1
    assert "x (40)" in found[0]
    assert "w2 (24)" in found[0]
    assert not [note for note in quantized(two_products()).report.notes if "w1" in note]


def test_types_of_the_other_format_are_refused_with_its_name() -> None:
    with pytest.raises(UnsupportedError, match=r"QMXINT8 cannot be written .*use VitisQuantFormat\.MXFixNeuron"):
        quantized(two_products(), "QMXINT8", quant_format=VitisQuantFormat.BFPFixNeuron)
    with pytest.raises(UnsupportedError, match=r"QBFP16 cannot be written .*use VitisQuantFormat\.BFPFixNeuron"):
        quantized(two_products(), quant_format="QDQ")


def test_enums_name_the_types_too() -> None:
    kinds = {"activation_type": VitisQuantType.QBFP16, "weight_type": VitisQuantType.QBFP}
    result = quantized(two_products(), **kinds)
    assert set(result.report.types.values()) == {"QBFP16"}


def test_a_foreign_plugin_adds_a_type_by_one_declaration(plugins: pluggy.PluginManager) -> None:
    block = BlockType("QBFP12", "to_bfp", block=16, bits=12)

    class Foreign:
        @hookimpl
        def vitis_declare(self) -> Iterator[Declaration]:
            yield quantized_type(block, "Four bits, sixteen neighbours.")

    plugins.register(Foreign(), "foreign")
    result = quantized(two_products(), "QBFP12", plugins=plugins).model
    found = {entry.name: entry.i for entry in block_nodes(result)[0].attribute}
    assert (found["bit_width"], found["block_size"]) == (12, 16)


def test_without_the_plugin_the_format_is_missing() -> None:
    without = new_manager(entry_points=False, blocked=("ort_vitis_block",))
    with pytest.raises(MissingPluginError, match="ort_vitis_block"):
        quantized(two_products(), plugins=without)
