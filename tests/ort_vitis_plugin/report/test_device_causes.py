"""Reasons of many nodes become a few causes, each with what to add."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.report.device_causes import Cause, causes, remedy

REMEDIES: dict[str, tuple[dict[str, list[int | str | None]], str]] = {
    "a batch": ({"x": ["N", 3, 8, 8]}, "--fix-dim N=1"),
    "a batch without a name": ({"x": [None, 3, 8, 8]}, "--fix-shape x=1,3,8,8"),
    "one of each": (
        {"x": [None, 3, "h", "w"], "z": ["n", 4]},
        "--fix-shape x=1,3,224,224 --fix-dim n=1 (with the sizes that you run)",
    ),
    "a name on two inputs": ({"x": ["N", 3], "z": ["N", 4]}, "--fix-dim N=1"),
    "names that a shell would split": (
        {"my x": [None, 3], "z": ["batch size", 4]},
        "--fix-shape 'my x=1,3' --fix-dim 'batch size=1'",
    ),
    "a name that a whole shape fixes": (
        {"x": ["N", None], "z": ["N", 4]},
        "--fix-shape x=1,1 (with the sizes that you run)",
    ),
}


@pytest.mark.parametrize("case", REMEDIES)
def test_remedies(case: str) -> None:
    shapes, flags = REMEDIES[case]
    assert remedy(shapes) == flags


def test_nodes_are_grouped_by_cause() -> None:
    placement = {
        "a": "the NPU's CNN engine has no Erf",
        "b": "dynamic shape: x is [N, 3]",
        "c": "dynamic shape: y is [N, ?]",
        "d": "the shape of z is unknown",
    }
    found = causes(placement, {"x": ["N", 3]})
    assert found == [
        Cause(("b", "c", "d"), "dynamic N", "--fix-dim N=1"),
        Cause(("a",), "the NPU's CNN engine has no Erf"),
    ]
    assert [str(cause) for cause in found] == [
        "3 nodes: dynamic N; add --fix-dim N=1",
        "1 node: the NPU's CNN engine has no Erf",
    ]


def test_shapes_that_data_make_have_no_remedy() -> None:
    assert causes({"a": "dynamic shape: x is [?, 4]"}, {}) == [Cause(("a",), "shapes that depend on the data")]
