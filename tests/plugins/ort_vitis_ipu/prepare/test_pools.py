"""Means over height and width become global pools, and global pools that are too large are taken in stages."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from ort_vitis_ipu.prepare.reduce_mean_to_pool import reduce_mean_to_pool
from ort_vitis_ipu.prepare.split_large_pool import LARGEST, split_large_pool, stages
from ort_vitis_plugin.api import attribute
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, opsets, plain_context

OPSETS = opsets()
X = "float[1, 3, 4, 5] x"


def mean(axes: list[int], opset: int, source: str = X, more: str = ""):
    constants = {"a": np.array(axes, np.int64)}
    if opset < 18:
        return graph(f"t ({source}) => (float[] y) {{ y = ReduceMean<axes = {axes}{more}>(x) }}", opset)
    tail = f"<{more.removeprefix(', ')}>" if more else ""
    return graph(f"t ({source}) => (float[] y) {{ y = ReduceMean{tail}(x, a) }}", opset, constants)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    ("axes", "source"),
    [([2], X), ([1, 2], X), ([1, 2, 3], X), ([2, 3], "float[1, 3, 4, 5, 6] x"), ([1, 2], "float[3, 4, 5] x")],
    ids=["one axis", "channels", "three axes", "rank 5", "rank 3"],
)
def test_other_means_stay(axes: list[int], source: str, opset: int) -> None:
    assert op_types(check_transform(reduce_mean_to_pool, mean(axes, opset, source))) == ["ReduceMean"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"t ({X}) => (float[] y) {{ y = ReduceMean(x) }}", "all axes"),
        (f"t ({X}, int64[2] a) => (float[] y) {{ y = ReduceMean(x, a) }}", "computed"),
        ("t (float[] x) => (float[] y) <int64[2] a = {2, 3}> { y = ReduceMean(x, a) }", "infer shapes"),
        ("t (int32[1, 3, 4, 5] x) => (int32[] y) <int64[2] a = {2, 3}> { y = ReduceMean(x, a) }", "integers"),
    ],
    ids=["no axes", "computed axes", "unknown rank", "integers"],
)
def test_declined_with_a_reason(text: str, reason: str) -> None:
    edited = Graph(graph(text, 18))
    assert reduce_mean_to_pool(edited, plain_context()) == 0
    assert reason in edited.skips[0].reason


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("axes", [[2, 3], [3, 2], [-1, -2], [2, -1]], ids=str)
def test_mean_over_space_is_a_pool(axes: list[int], opset: int) -> None:
    model = mean(axes, opset)
    assert op_types(check_transform(reduce_mean_to_pool, model, tolerance=1e-6)) == ["GlobalAveragePool"]


@pytest.mark.parametrize("opset", OPSETS)
def test_dropped_dimensions_are_flattened(opset: int) -> None:
    result = check_transform(reduce_mean_to_pool, mean([2, 3], opset, more=", keepdims = 0"), tolerance=1e-6)
    assert op_types(result) == ["GlobalAveragePool", "Flatten"]


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [
        (16, 32, [(16, 32)]),
        (32, 32, [(4, 4), (8, 8)]),
        (23, 23, [(23, 1), (1, 23)]),
        (521, 1, None),
        (1, 1042, None),
        (7, 512, [(7, 64), (1, 8)]),
    ],
)
def test_stages(height: int, width: int, expected: list[tuple[int, int]] | None) -> None:
    found = stages(height, width)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert len(found) == len(expected)
        assert (height * width > LARGEST) == (len(found) > 1)


@pytest.mark.parametrize("height", [1, 13, 112, 509, 600, 1021, 1024, 4096])
@pytest.mark.parametrize("width", [1, 37, 113, 224, 2187, 3600])
def test_stages_are_exact_and_fit(height: int, width: int) -> None:
    found = stages(height, width)
    if found is None:
        assert 1021 in (height, width)
        return
    assert (prod(h for h, _ in found), prod(w for _, w in found)) == (height, width)
    assert max(h * w for h, w in found) <= LARGEST


def pool(height: object, width: object, opset: int = 17):
    return graph(f"t (float[2, 3, {height}, {width}] x) => (float[] y) {{ y = GlobalAveragePool(x) }}", opset)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (pool(16, 32), None),
        (pool("H", 32), "not known"),
        (pool(521, 2), "prime"),
        (graph("t (float[1, 2, 10, 10, 10] x) => (float[] y) { y = GlobalAveragePool(x) }"), "rank"),
    ],
    ids=["it fits", "dynamic", "prime", "rank 5"],
)
def test_pools_that_stay(model, reason: str | None) -> None:
    edited = Graph(model)
    assert split_large_pool(edited, plain_context()) == 0
    assert [skip.reason for skip in edited.skips] == [] if reason is None else reason in edited.skips[0].reason


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("height", "width", "count"), [(32, 32, 2), (23, 23, 2), (56, 70, 2), (1024, 1024, 3)])
def test_large_pools_are_split(height: int, width: int, count: int, opset: int) -> None:
    result = check_transform(split_large_pool, pool(height, width, opset), tolerance=1e-5)
    assert op_types(result) == ["AveragePool"] * (count - 1) + ["GlobalAveragePool"]
    assert all(prod(attribute(node, "kernel_shape")) <= LARGEST for node in result.graph.node[:-1])
    assert result.graph.node[0].output[0] == "x_Split"
