"""MixedTypes selects as other selections do: by names, patterns and tensors, whatever the optimizer makes of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import UnknownNameError
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.selection.node_types import NodeTypes
from ort_vitis_plugin.testing import graph, plain_context, random_feeds

W = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
# onnxruntime makes one Gemm of [m] and [a]; the Relu has no name.
MODEL = graph(
    "t (float[2, 4] x) => (float[2, 4] y) { [m] t = MatMul(x, w) [a] u = Add(t, b) v = Relu(u) [n] y = MatMul(v, k) }",
    constants={"w": W, "k": W, "b": np.ones(4, np.float32)},
)


def wide(mixed: dict[str, str], **options: Any) -> tuple[set[str], dict[str, list[str]]]:
    """Weights in 16 bits, and what the report says of patterns."""
    found = quantize_static(MODEL, None, [random_feeds(MODEL)], extra_options={"MixedTypes": mixed, **options})
    return {name for name in ("w", "k") if found.report.types[name] == "QInt16"}, found.report.patterns


# key -> the weights whose products it means, and the nodes that the report lists
HITS: dict[str, tuple[set[str], list[str] | None]] = {
    "m": ({"w"}, None),
    "a": ({"w"}, None),
    "n": ({"k"}, None),
    "MatMul": ({"w", "k"}, None),
    "Add": (set(), None),  # the Gemm is a product first
    "op:MatMul": ({"w", "k"}, ["m", "n"]),
    "m*": ({"w"}, ["m"]),
    "re:[an]": ({"w", "k"}, ["a", "n"]),
    "tensor:t": ({"w"}, ["m"]),
    "tensor:x": ({"w"}, ["m"]),
    "tensor:k": ({"k"}, ["n"]),
    "?": ({"w", "k"}, ["m", "a", "n"]),
    "Relu_?": (set(), ["Relu_v"]),
}


@pytest.mark.parametrize("key", HITS)
def test_a_key_means_what_it_means_elsewhere(key: str) -> None:
    weights, hit = HITS[key]
    assert wide({key: "QInt16"}, Target="cpu") == (weights, {} if hit is None else {f"MixedTypes {key}": hit})


@pytest.mark.parametrize(
    ("mixed", "weights"),
    [
        ({"MatMul": "QInt16", "m": "QInt8"}, {"k"}),
        ({"m": "QInt8", "MatMul": "QInt16"}, {"k"}),
        ({"tensor:t": "QInt8", "op:MatMul": "QInt16"}, {"k"}),
        ({"?": "QInt16", "re:m": "QInt8"}, {"k"}),
        ({"re:m": "QInt8", "?": "QInt16"}, {"w", "k"}),
        ({"a": "QInt8", "m": "QInt16"}, {"w"}),
    ],
)
def test_names_win_over_patterns_and_the_last_pattern_over_others(mixed: dict[str, str], weights: set[str]) -> None:
    assert wide(mixed, Target="cpu")[0] == weights


@pytest.mark.parametrize("pattern", ["op:Matmul", "tensor:zz", "zz*"])
def test_a_pattern_without_a_hit_is_told(pattern: str) -> None:
    with pytest.raises(UnknownNameError, match=r"MixedTypes: the pattern .* hits no"):
        wide({pattern: "QInt16"})


def test_what_moves_integers_goes_on_with_their_type_and_what_moves_floats_does_not() -> None:
    moved = Graph(graph("t (float[4, 4] x) => (float[4, 4] y) { [m] a = MatMul(x, x)  [t] y = Transpose(a) }"))

    def type_of_moved(**mixed: str) -> str:
        call = plain_context(MixedTypes=mixed)
        types = NodeTypes(moved, call.settings, call.ledger)
        types.check()
        node = moved.producer("y")
        assert node is not None
        return str(types.of(node).activation)

    assert type_of_moved(m="QInt16") == "QInt16"
    assert type_of_moved(m="QBFloat16") == type_of_moved()
