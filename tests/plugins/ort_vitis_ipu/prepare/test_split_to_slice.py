"""Splits become Slices in the spelling of their opset."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_ipu.prepare.split_to_slice import split_to_slice
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, opsets, plain_context, run_model

ATTRIBUTES, INPUTS, COUNTS = (9, 10, 11), opsets()[2:], opsets()[5:]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("t (float[6] x, int64[2] s) => (float[] a, float[] b) { a, b = Split(x, s) }", "computed"),
        ("t (float[N] x) => (float[] a, float[] b) { a, b = Split(x) }", "unknown"),
    ],
    ids=["computed sizes", "dynamic axis"],
)
def test_declined_with_a_reason(text: str, reason: str) -> None:
    edited = Graph(graph(text, 13))
    assert split_to_slice(edited, plain_context()) == 0
    assert reason in edited.skips[0].reason


@pytest.mark.parametrize("opset", ATTRIBUTES)
@pytest.mark.parametrize("attributes", ["", "<axis = 1>", "<axis = 1, split = [1, 5]>", "<axis = 1, split = [0, 6]>"])
def test_attributes(attributes: str, opset: int) -> None:
    model = graph(f"t (float[4, 6] x) => (float[] a, float[] b) {{ a, b = Split{attributes}(x) }}", opset)
    assert op_types(check_transform(split_to_slice, model)) == ["Slice", "Slice"]


@pytest.mark.parametrize("opset", INPUTS)
@pytest.mark.parametrize("axis", ["", "<axis = 0>", "<axis = -2>"])
def test_sizes_as_input(axis: str, opset: int) -> None:
    text = f"t (float[7, 3] x) => (float[] a, float[] b, float[] c) {{ a, b, c = Split{axis}(x, s) }}"
    model = graph(text, opset, {"s": np.array([1, 4, 2])})
    assert op_types(check_transform(split_to_slice, model)) == ["Slice"] * 3


@pytest.mark.parametrize("opset", COUNTS)
@pytest.mark.parametrize("length", [6, 7, 8, 9])
def test_number_of_outputs(length: int, opset: int) -> None:
    text = f"t (int64[2, {length}] x) => (int64[] a, int64[] b, int64[] c)"
    model = graph(f"{text} {{ a, b, c = Split<axis = -1, num_outputs = 3>(x) }}", opset)
    assert op_types(check_transform(split_to_slice, model)) == ["Slice"] * 3


def test_sizes_need_no_shape() -> None:
    text = "t (float[N, M] x) => (float[] a, float[] b) { a, b = Split<axis = 1>(x, s) }"
    model = graph(text, 13, {"s": np.array([1, 1])})
    assert op_types(check_transform(split_to_slice, model)) == ["Slice", "Slice"]


def test_names_and_unused_outputs() -> None:
    """onnxruntime itself crashes on a Split with an output left out, so the original cannot be run here."""
    model = graph("t (float[6] x) => (float[] a, float[] c) { a, , c = Split(x, s) }", 13, {"s": np.array([1, 2, 3])})
    model.graph.node[0].name = "split"
    edited = Graph(model)
    assert split_to_slice(edited, plain_context()) == 1
    result = edited.to_model()
    assert [node.name for node in result.graph.node] == ["split_0", "split_2"]
    assert result.graph.node[1].input[1] == "split_starts_2"
    x = np.arange(6, dtype=np.float32)
    assert run_model(result, {"x": x})["c"].tolist() == [3, 4, 5]


def test_splits_after_one_that_is_declined() -> None:
    head = "t (float[N] x, float[4] z) => (float[] a, float[] b, float[] c, float[] d)"
    model = graph(head + " { a, b = Split(x) c, d = Split(z) }", 13)
    assert op_types(check_transform(split_to_slice, model)) == ["Split", "Slice", "Slice"]
