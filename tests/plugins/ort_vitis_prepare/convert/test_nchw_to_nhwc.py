"""Image inputs take channels last: which ones, all or none, and what stays as it was."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.api import Report
from ort_vitis_plugin.data_readers import channels_last
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph, op_types, opsets, plain_context, random_feeds, run_model
from ort_vitis_prepare.convert.nchw_to_nhwc import convert_nchw_to_nhwc, nchw_to_nhwc

OPSETS = opsets()


def dims(model: onnx.ModelProto, position: int = 0) -> list[int | str]:
    return [dim.dim_value or dim.dim_param for dim in model.graph.input[position].type.tensor_type.shape.dim]


@pytest.mark.parametrize(
    "text",
    [
        "t (float[2, 3] x) => (float[] y) { y = Relu(x) }",
        "t (float[1, 3, 8] x) => (float[] y) { y = Relu(x) }",
        "t (float[1, 8, 8, 3] x) => (float[] y) { y = Relu(x) }",
        "t (float[1, 64, 7, 7] x) => (float[] y) { y = Relu(x) }",
        "t (float[1, 8, H, W] x) => (float[] y) { y = Relu(x) }",
        "t (float[1, C, 8, 8] x) => (float[] y) { y = Relu(x) }",
        "t (float[] x) => (float[] y) { y = Relu(x) }",
        "t (float[1, 4, 4, 3] x) => (float[] y) { y = Transpose<perm = [0, 3, 1, 2]>(x) }",
    ],
    ids=["rank 2", "rank 3", "NHWC already", "features", "dynamic size", "dynamic channels", "no shape", "converted"],
)
def test_nothing_to_convert(text: str) -> None:
    model, report = graph(text), Report()
    assert convert_nchw_to_nhwc(model, report).graph == model.graph
    assert "nothing to convert" in report.notes[0]


def test_none_where_one_cannot() -> None:
    text = "t (float[1, 3, 8, 8] x, float[1, 3, 8, 8] z) => (float[] y, float[1, 3, 8, 8] z) { y = Add(x, z) }"
    model, report = graph(text), Report()
    assert convert_nchw_to_nhwc(model, report).graph == model.graph
    assert "z is a graph output" in report.notes[0]


def test_only_when_asked_for() -> None:
    model = graph("t (float[1, 3, 8, 8] x) => (float[] y) { y = Relu(x) }")
    assert nchw_to_nhwc(Graph(model), plain_context()) == 0
    edited, asked = Graph(model), plain_context(ConvertNCHWToNHWC=True)
    assert nchw_to_nhwc(edited, asked) == 1
    assert "input x [1, 3, 8, 8] takes channels last" in asked.report.notes[0]
    assert edited.shape("x") == (1, 8, 8, 3)
    assert nchw_to_nhwc(edited, asked) == 0


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("1, 3, 8, 6", [1, 8, 6, 3]),
        ("N, 3, H, W", ["N", "H", "W", 3]),
        ("1, 1, 28, 28", [1, 28, 28, 1]),
        ("2, 4, 4, 4", [2, 4, 4, 4]),
        ("1, 5, 6, 7", [1, 6, 7, 5]),
    ],
)
def test_converts(shape: str, expected: list[int | str], opset: int) -> None:
    text = f"t (float[{shape}] x) => (float[] y, int64[] z) {{ y = Relu(x) z = ArgMax<axis = 1>(x) }}"
    model = graph(text, opset)
    result = convert_nchw_to_nhwc(model)
    onnx.checker.check_model(result, full_check=True)
    assert op_types(result) == ["Transpose", "Relu", "ArgMax"]
    assert list(result.graph.output) == list(model.graph.output)
    assert dims(result) == expected
    feeds = random_feeds(model)
    moved = {"x": np.ascontiguousarray(np.transpose(feeds["x"], (0, 2, 3, 1)))}
    before, after = run_model(model, feeds), run_model(result, moved)
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])
    assert convert_nchw_to_nhwc(result) == result


def test_inputs_that_are_no_images_stay() -> None:
    head = "t (float[1, 3, 8, 8] x, float[1, 5] s, float[1, 3, 8, 8] k) => (float[] y, float[] z)"
    result = convert_nchw_to_nhwc(graph(head + " { y = Add(x, k) z = Relu(s) }"))
    assert [dims(result, position) for position in range(3)] == [[1, 8, 8, 3], [1, 5], [1, 8, 8, 3]]


def test_the_model_remembers_which_inputs_converted() -> None:
    head = "t (float[1, 3, 8, 8] x, float[1, 5] s, float[1, 3, 8, 8] k) => (float[] y, float[] z)"
    result = convert_nchw_to_nhwc(graph(head + " { y = Add(x, k) z = Relu(s) }"))
    assert channels_last(result) == {"x", "k"}
    assert channels_last(graph("t (float[1, 5] s) => (float[] z) { z = Relu(s) }")) == set()


def test_readers_inside_sub_graphs() -> None:
    text = """t (float[1, 3, 4, 5] x, bool c) => (float[1, 3, 4, 5] y) {
        y = If (c) <
            then_branch = a () => (float[1, 3, 4, 5] p) { p = Relu(x) },
            else_branch = b () => (float[1, 3, 4, 5] q) { q = Neg(x) }
        >
    }"""
    model = graph(text)
    result = convert_nchw_to_nhwc(model)
    x = np.random.default_rng(0).standard_normal((1, 3, 4, 5)).astype(np.float32)
    expected = run_model(model, {"x": x, "c": np.array(True)})["y"]
    found = run_model(result, {"x": x.transpose(0, 2, 3, 1), "c": np.array(True)})["y"]
    np.testing.assert_array_equal(found, expected)
