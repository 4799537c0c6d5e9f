"""Weights alone in blocks of few bits: by onnxruntime's own tool, or as DequantizeLinear with block_size."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime.quantization
import pytest
from onnx import numpy_helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import OptionError, OptionTypeError, UnknownNameError, UnsupportedError
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import LEVELS, graph, run_model
from tests.models.serialized import without_provenance

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(50, 64)).astype(np.float32)
W = RNG.normal(size=(64, 64)).astype(np.float32)
TEXT = """
t (int64[2, 5] ids) => (float[2, 5, 50] y) {
  [look] e = Gather(table, ids)
  [mix] h = MatMul(e, w)
  [act] r = Relu(h)
  [head] y = MatMul(r, tied)
}
"""
FEEDS = [{"ids": RNG.integers(0, 50, (2, 5))} for _ in range(2)]
QDQ = {"bits": 4, "block": 32, "format": "QDQ"}


def model(opset: int = 17) -> onnx.ModelProto:
    return graph(TEXT, opset, {"table": TABLE, "w": W, "tied": np.ascontiguousarray(TABLE.T)})


def quantized(blocks: Any, feeds: Any = FEEDS, **more: Any) -> Any:
    options = {"WeightOnly": blocks, **more.pop("extra_options", {})}
    return quantize_static(model(), None, feeds, extra_options=options, **more)


def dequantized(result: onnx.ModelProto, name: str, axis: int, block: int = 32) -> Any:
    stored = {tensor.name: tensor for tensor in result.graph.initializer}
    codes = numpy_helper.to_array(stored[f"{name}_quantized"]).astype(np.float32)
    scale = np.repeat(numpy_helper.to_array(stored[f"{name}_scale"]), block, axis)
    return codes * np.take(scale, range(codes.shape[axis]), axis)


@pytest.mark.parametrize(("bits", "least"), [(4, 14), (8, 38)])
@pytest.mark.parametrize("symmetric", [True, False])
def test_pairs_in_blocks(bits: int, least: float, symmetric: bool) -> None:
    result = quantized({"bits": bits, "block": 32, "format": "QDQ", "symmetric": symmetric})
    pairs = [node for node in result.model.graph.node if node.op_type == "DequantizeLinear"]
    assert sorted(node.output[0].split("_")[0] for node in pairs) == ["table", "tied", "w"]
    assert {entry.i for node in pairs for entry in node.attribute if entry.name == "block_size"} == {32}
    exact = run_model(model(), FEEDS[0], LEVELS[0])["y"]
    for level in LEVELS:
        assert sqnr_db(exact, run_model(result.model, FEEDS[0], level)["y"]) > least
    kind = f"Q{'' if symmetric else 'U'}Int{bits}"
    assert result.report.types == dict.fromkeys(("w", "tied", "table"), f"{kind} in blocks of 32")
    assert result.report.quantized == {"mix": "MatMul", "head": "MatMul", "look": "Gather"}
    assert list(result.report.left_float) == ["act"]


def test_what_decodes_a_weight_is_not_left_float() -> None:
    text = "t (float[2, 64] x) => (float[2, 64] y) { d = DequantizeLinear(c, s) [sum] h = Add(x, d) y = MatMul(h, w) }"
    source = graph(text, 17, {"c": np.ones(64, np.int8), "s": np.float32(0.5).reshape(()), "w": W})
    result = quantize_static(source, None, [{"x": W[:2]}], extra_options={"WeightOnly": QDQ})
    assert list(result.report.left_float) == ["sum"]


def test_a_tied_table_has_the_codes_of_its_head() -> None:
    result = quantized(QDQ).model
    np.testing.assert_array_equal(dequantized(result, "table", 1), dequantized(result, "tied", 0).T)


@pytest.mark.parametrize("left", ["look", "head"])
def test_one_left_float_leaves_the_other_float(left: str) -> None:
    report = quantized(QDQ, nodes_to_exclude=[left]).report
    assert report.quantized == {"mix": "MatMul"}
    assert any("reads the same values and stays float" in note for note in report.notes)


def test_a_shared_matrix_of_gemm_is_stored_once() -> None:
    text = "t (int64[4] ids) => (float[4, 50] y) { e = Gather(table, ids) y = Gemm<transB = 1>(e, table) }"
    source = graph(text, 17, {"table": TABLE})
    result = quantize_static(source, None, None, extra_options={"WeightOnly": QDQ}).model
    assert [node.op_type for node in result.graph.node].count("DequantizeLinear") == 1
    assert len(result.graph.initializer) == 2


@pytest.mark.parametrize("tool", [False, True])
@pytest.mark.parametrize("named", ["mix", "mi*", "re:m.x"])
def test_some_nodes_have_more_bits(tool: bool, named: str) -> None:
    if tool:
        pytest.importorskip("onnx_ir")
    asked = {**QDQ, "format": "MatMulNBits" if tool else "QDQ"}
    result = quantized({**asked, "bits_of": {named: 8}})
    four, eight = (f"QInt{bits} in blocks of 32" for bits in (4, 8))
    assert result.report.types == {"w": eight, "table": four, "tied": four}
    exact, fewer, more = (
        run_model(each, FEEDS[0], LEVELS[0])["y"] for each in (model(), quantized(asked).model, result.model)
    )
    assert sqnr_db(exact, more) > sqnr_db(exact, fewer) + 1


@pytest.mark.parametrize("blocks", [QDQ, {"bits": 4, "block": 32}], ids=["pairs", "tool"])
def test_tied_weights_of_other_bits_stay_float(blocks: dict[str, Any]) -> None:
    if "format" not in blocks:
        pytest.importorskip("onnx_ir")
    report = quantized({**blocks, "bits_of": {"head": 8}}).report
    assert report.quantized == {"mix": "MatMul"}
    notes = [note for note in report.notes if "reads the same values and has other bits" in note]
    assert len(notes) == 2 if "format" in blocks else notes


def test_one_weight_may_be_read_with_both_bits() -> None:
    text = "t (float[4, 64] x) => (float[4, 64] y) { [a] h = MatMul(x, w) [b] y = MatMul(h, w) }"
    blocks = {**QDQ, "bits_of": {"b": 8}}
    result = quantize_static(graph(text, 17, {"w": W}), None, None, extra_options={"WeightOnly": blocks}).model
    pairs = [node.input[0] for node in result.graph.node if node.op_type == "DequantizeLinear"]
    kinds = {tensor.name: tensor.data_type for tensor in result.graph.initializer}
    assert [kinds[name] for name in pairs] == [onnx.TensorProto.INT4, onnx.TensorProto.INT8]


def test_scales_of_least_error_lose_less() -> None:
    exact = run_model(model(), FEEDS[0], LEVELS[0])["y"]
    by_max, by_error = (
        sqnr_db(exact, run_model(quantized({**QDQ, "scale": scale}).model, FEEDS[0], LEVELS[0])["y"])
        for scale in ("max", "mse")
    )
    assert by_error > by_max


def test_no_data_are_needed() -> None:
    result = quantized(QDQ, feeds=None)
    assert any("WeightOnly needs no calibration data" in note for note in result.report.notes)
    assert result.model.SerializeToString() == quantized(QDQ).model.SerializeToString()


@pytest.mark.parametrize(("kind", "op_type"), [("QBFP16", "BFPFixNeuron"), ("QBFloat16", "VitisQuantizeLinear")])
def test_data_may_be_quantized_beside_it(kind: str, op_type: str) -> None:
    result = quantized(QDQ, feeds=None, activation_type=kind, weight_type=kind, quant_format="BFPFixNeuron")
    made = {name: node for node in result.model.graph.node for name in node.output}
    for node in result.model.graph.node:
        if node.op_type == "MatMul":
            assert made[node.input[0]].op_type in (op_type, "VitisDequantizeLinear")
            assert made[node.input[1]].op_type == "DequantizeLinear"
    exact = run_model(model(), FEEDS[0], LEVELS[0])["y"]
    assert sqnr_db(exact, run_model(result.model, FEEDS[0], LEVELS[0])["y"]) > 14


def test_onnxruntimes_door_takes_it(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "m.onnx")
    paths = tmp_path / "m.onnx", tmp_path / "q.onnx"
    onnxruntime.quantization.quantize_static(*paths, iter_reader(), extra_options={"WeightOnly": QDQ})
    assert without_provenance(onnx.load(tmp_path / "q.onnx")) == without_provenance(quantized(QDQ).model)


def iter_reader() -> Any:
    class Reader(onnxruntime.quantization.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.feeds = iter(FEEDS)

        def get_next(self) -> Any:
            return next(self.feeds, None)

    return Reader()


@pytest.mark.parametrize(
    ("blocks", "error", "message"),
    [
        ({"bits": 5}, OptionError, "bits is 5; it must be 4 or 8"),
        ({"block": 24}, OptionError, "block is 24; it must be a power of two from 16 on"),
        ({"blocks": 32}, OptionError, "no entry 'blocks'; .*did you mean block"),
        ({"bits_of": {"mix": 6}}, OptionError, r"bits_of\['mix'\] is 6; it must be 4 or 8"),
        ({"bits_of": 8}, OptionError, "bits_of is 8; it maps nodes to bits"),
        ({**QDQ, "bits_of": {"mxi": 8}}, UnknownNameError, "bits_of: 'mxi' is no node .*did you mean mix"),
        ({**QDQ, "bits_of": {"*/v": 8}}, UnknownNameError, r"bits_of: the pattern '\*/v' hits no node"),
        ({"scale": "mse", "format": "MatMulNBits"}, OptionError, "knows the largest magnitude alone; use format 'QDQ'"),
        ([4, 32], (OptionTypeError, OptionError), "WeightOnly"),
    ],
)
def test_mistakes_are_named(blocks: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        quantized(blocks)


def test_without_the_tools_package_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ort_vitis_plugin.pipeline.weight_only.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"needs the package onnx_ir.*pip install .*weight-only., or use .*QDQ"):
        quantized({"bits": 4, "block": 32})


FLOAT_NODES = ["Gather", "MatMul", "Relu", "MatMul"]
STORED = {"mix": "MatMulNBits", "head": "MatMulNBits", "look": "GatherBlockQuantized"}


@pytest.mark.parametrize(("bits", "least", "stored"), [(4, 14, ["mix", "head", "look"]), (8, 38, ["mix"])])
@pytest.mark.parametrize("symmetric", [True, False])
def test_onnxruntimes_own_tool(bits: int, least: float, stored: list[str], symmetric: bool) -> None:
    """It has no tables of eight bits, so that a tied head stays float with its table."""
    pytest.importorskip("onnx_ir")
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    result = quantized({"bits": bits, "block": 32, "symmetric": symmetric})
    assert (root.level, root.handlers) == before
    names = dict(zip(("look", "mix", "act", "head"), FLOAT_NODES, strict=True))
    names.update({name: STORED[name] for name in stored})
    assert [node.op_type for node in result.model.graph.node] == list(names.values())
    exact = run_model(model(), FEEDS[0], LEVELS[0])["y"]
    for level in LEVELS:
        assert sqnr_db(exact, run_model(result.model, FEEDS[0], level)["y"]) > least
    assert set(result.report.quantized) == set(stored)


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_tool_ties_too(symmetric: bool) -> None:
    """The head of a row of the table: the products of a row with all rows are symmetric only with equal codes."""
    pytest.importorskip("onnx_ir")
    text = "t (int64[50] ids) => (float[50, 50] y) { e = Gather(table, ids) y = MatMul(e, tied) }"
    source = graph(text, 17, {"table": TABLE, "tied": np.ascontiguousarray(TABLE.T)})
    blocks = {"bits": 4, "block": 32, "symmetric": symmetric}
    result = quantize_static(source, None, None, extra_options={"WeightOnly": blocks}).model
    y = run_model(result, {"ids": np.arange(50)}, LEVELS[0])["y"]
    np.testing.assert_allclose(y, y.T, rtol=1e-4, atol=1e-3)


BIASES = {"b": RNG.normal(size=64).astype(np.float32), "w": W}


@pytest.mark.parametrize(
    ("text", "op_types"),
    {
        # onnxruntime makes a Gemm of it between two Reshapes.
        "of fixed sizes": (
            "t (float[2, 3, 64] x) => (float[2, 3, 64] y) { h = MatMul(x, w) y = Add(h, b) }",
            ["Reshape", "MatMulNBits", "Add", "Reshape"],
        ),
        "with a bias": ("t (float[3, 64] x) => (float[3, 64] y) { y = Gemm(x, w, b) }", ["MatMulNBits", "Add"]),
        "transposed": ("t (float[3, 64] x) => (float[3, 64] y) { y = Gemm<transB = 1>(x, w) }", ["MatMulNBits"]),
        "of transposed data": ("t (float[64, 3] x) => (float[3, 64] y) { y = Gemm<transA = 1>(x, w) }", ["Gemm"]),
    }.values(),
)
def test_the_tool_takes_a_gemm_that_is_a_product_and_a_sum(text: str, op_types: list[str]) -> None:
    pytest.importorskip("onnx_ir")
    source = graph(
        text, 17, {name: value for name, value in BIASES.items() if f"{name})" in text or f"{name}," in text}
    )
    shape = [entry.dim_value for entry in source.graph.input[0].type.tensor_type.shape.dim]
    feed = {"x": RNG.normal(size=shape).astype(np.float32)}
    result = quantize_static(source, None, None, extra_options={"WeightOnly": {"bits": 8, "block": 32}})
    assert [node.op_type for node in result.model.graph.node] == op_types
    assert ("w" in result.report.types) == ("MatMulNBits" in op_types)
    exact = run_model(source, feed, LEVELS[0])["y"]
    for level in LEVELS:
        assert sqnr_db(exact, run_model(result.model, feed, level)["y"]) > 38
