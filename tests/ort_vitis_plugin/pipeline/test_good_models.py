"""Models that are odd but good are quantized, and what was not done is said."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import LibraryNotFoundError, ModelError
from ort_vitis_plugin.measure.evaluate import compare
from ort_vitis_plugin.onnx_io import sessions
from ort_vitis_plugin.testing import graph

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 16)).astype(np.float32)
W = {"w": RNG.standard_normal((16, 16)).astype(np.float32), "s": np.float32(2)}


def with_default() -> ModelProto:
    """The factor s is an input with the default 2."""
    model = graph("t (float[2, 16] x) => (float[2, 16] y) { h = MatMul(x, w) y = Mul(h, s) }", 17, W)
    model.graph.input.append(helper.make_tensor_value_info("s", 1, []))
    return model


@pytest.mark.parametrize("value", [np.float32(3), np.array(3, np.float32)], ids=["scalar", "array"])
def test_a_reader_may_feed_an_input_with_a_default(value: Any) -> None:
    feeds = [{"x": X, "s": value}]
    removed = quantize_static(with_default(), None, feeds)
    assert [note for note in removed.report.notes if note.startswith("samples feed s, ")]
    assert removed.report.sqnr["y"] > 30
    assert compare(with_default(), removed.model, feeds)["y"].sqnr > 30
    kept = quantize_static(with_default(), None, feeds, extra_options={"RemoveInputInit": False})
    assert [value.name for value in kept.model.graph.input] == ["x", "s"]
    assert not [note for note in kept.report.notes if "samples feed" in note]


BRANCHES = (
    "m = ReduceMax<keepdims = 0>(x) c = Greater(m, s) y = If(c) "
    "<then_branch = a () => (float[2, 16] t) { t = MatMul(x, w) }, "
    "else_branch = b () => (float[2, 16] e) { e = MatMul(x, w) }>"
)


def test_a_model_of_which_nothing_was_quantized_says_so() -> None:
    model = graph(f"t (float[2, 16] x) => (float[2, 16] y) {{ {BRANCHES} }}", 17, W)
    found = quantize_static(model, None, [{"x": X}])
    (note,) = (note for note in found.report.notes if note.startswith("nothing of the model was quantized"))
    assert "EnableSubgraph" in note
    inside = quantize_static(model, None, [{"x": X}], extra_options={"EnableSubgraph": True})
    assert not any(note.startswith("nothing") for note in inside.report.notes)
    plain = graph("t (float[2, 16] x) => (float[2, 16] y) { y = Erf(x) }", 17)
    (note,) = (n for n in quantize_static(plain, None, [{"x": X}]).report.notes if n.startswith("nothing"))
    assert "EnableSubgraph" not in note


def unnamed() -> ModelProto:
    model = graph(
        "t (float[2, 16] x) => (float[2, 16] y) { h = MatMul(x, w) k = MatMul(h, w) y = MatMul(k, w) }", 17, W
    )
    for node in model.graph.node:
        node.name = ""
    model.graph.node[0].name = "first"
    return model


@pytest.mark.parametrize(
    ("arguments", "floats"),
    [
        ({"nodes_to_exclude": [""]}, 2),
        ({"nodes_to_exclude": ["", "first"]}, 3),
        ({"nodes_to_quantize": [""]}, 1),
        ({"nodes_to_quantize": ["", "first"]}, 0),
    ],
    ids=str,
)
def test_an_empty_name_is_every_node_without_one(arguments: dict[str, Any], floats: int) -> None:
    report = quantize_static(unnamed(), None, [{"x": X}], **arguments).report
    assert len(report.left_float) == floats
    assert len(report.quantized) == 3 - floats


def test_an_operator_of_nobody_names_the_option() -> None:
    model = unnamed()
    model.graph.node[0].domain = "my.ops"
    model.opset_import.append(helper.make_opsetid("my.ops", 1))
    with pytest.raises(ModelError, match="CustomOpLibraries"):
        quantize_static(model, None, [{"x": X}])


def test_without_onnxruntime_extensions_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime_extensions", None)
    with pytest.raises(LibraryNotFoundError, match=r"install onnxruntime-extensions.*CustomOpLibraries"):
        sessions.extensions_library()
