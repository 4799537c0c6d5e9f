"""Pairs take the names for which onnxruntime has kernels, and mean the same."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.convert.known_kernels import (
    is_shift,
    raise_opset,
    take_contrib_names,
    take_known_names,
    take_standard_names,
)
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph

NATIVE = "t (float[4] x) => (float[4] y) { q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) }"


def pair(kind: type, scale: float, opset: int = 17) -> Graph:
    """A pair of Vitis nodes."""
    model = graph(NATIVE, opset, {"s": np.array(scale, np.float32), "z": np.array(0, kind)})
    for node in model.graph.node:
        node.op_type, node.domain = f"Vitis{node.op_type}", "com.vai.quantize"
    return Graph(model)


def names(edited: Graph) -> list[tuple[str, str]]:
    return [(node.domain, node.op_type) for node in edited]


def test_powers_of_two_are_shifts() -> None:
    assert [is_shift(edited, next(iter(edited))) for edited in (pair(np.int8, 0.25), pair(np.int8, 0.3))] == [
        True,
        False,
    ]


def test_eight_bits_of_powers_of_two_become_onnxs_own() -> None:
    edited = pair(np.int8, 0.25)
    assert take_standard_names(edited) == 2
    assert names(edited) == [("", "QuantizeLinear"), ("", "DequantizeLinear")]
    other = pair(np.int8, 0.3)  # Vitis rounds another quotient there
    assert take_standard_names(other) == 0


def test_sixteen_bits_become_onnxruntimes() -> None:
    edited = pair(np.int16, 0.3)
    assert take_contrib_names(edited) == 2
    assert names(edited) == [("com.microsoft", "QuantizeLinear"), ("com.microsoft", "DequantizeLinear")]
    assert take_contrib_names(pair(np.int8, 0.3)) == 0


@pytest.mark.parametrize(("opset", "raised"), [(10, 0), (11, 1), (12, 0), (17, 0)])
def test_opset_11_becomes_12(opset: int, raised: int) -> None:
    edited = Graph(graph(NATIVE, opset, {"s": np.array(1, np.float32), "z": np.array(0, np.int8)}))
    assert raise_opset(edited) == raised
    assert edited.opset == (12 if raised else opset)


def test_names_are_kept_where_kernels_are_known() -> None:
    edited = Graph(graph(NATIVE, 21, {"s": np.array(1, np.float32), "z": np.array(0, np.int8)}))
    assert take_known_names(edited) == 0
