"""A name wins over a pattern, a pattern over an op type, a later entry over an earlier one."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.errors import UnknownNameError
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.request.ledger import Ledger
from ort_vitis_plugin.selection.stated_by_node import StatedByNode
from ort_vitis_plugin.testing import graph

TEXT = "t (float[2] x) => (float[2] y) { [a] h = Neg(x) [ab] i = Abs(h) [b] y = Neg(i) }"


def stated(entries: dict[str, int]) -> StatedByNode[int]:
    return StatedByNode(Graph(graph(TEXT, 18)), entries, "Option", Ledger())


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ({}, [None, None, None]),
        ({"Neg": 1}, [1, None, 1]),
        ({"op:N*": 1, "a*": 2}, [2, 2, 1]),
        ({"a*": 2, "ab*": 3}, [2, 3, None]),
        ({"a": 4, "a*": 2, "Neg": 1}, [4, 2, 1]),
        ({"tensor:y": 5, "re:a.": 6}, [None, 6, 5]),
    ],
)
def test_what_wins(entries: dict[str, int], found: list[int | None]) -> None:
    table = stated(entries)
    table.check()
    assert [table.of(node) for node in table.graph] == found


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("abc", "Option: 'abc' is no node or op type of the model; did you mean"),
        ("c*", r"the pattern 'c\*' hits no node"),
    ],
)
def test_what_speaks_of_no_node_is_named(key: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        stated({key: 1}).check()


def test_op_types_that_are_selected_may_be_missing() -> None:
    stated({"Conv": 1}).check({"Conv"})
