"""What is a pattern, what it stands for, and what is nearest to one that stands for nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.selection.name_patterns import no_hit, parsed

NAMES = ["/head/conv[0]/Conv", "/head/act", "/body/act", "a*b", "op:x", "Softmax"]


@pytest.mark.parametrize("text", [*NAMES, "head", "/head/[ab]", "", "[0-9]", "tensor", "op"])
def test_names_are_no_patterns(text: str) -> None:
    assert parsed(text, NAMES, "argument") is None


HITS = {
    "/head/*": ["/head/conv[0]/Conv", "/head/act"],
    "*": NAMES,
    "/?ody/act": ["/body/act"],
    "*conv[0]*": ["/head/conv[0]/Conv"],
    "*conv[1]*": [],
    "*act": ["/head/act", "/body/act"],
    "*ac": [],
    "re:.*/act": ["/head/act", "/body/act"],
    "re:/head": [],
    "op:Soft*": ["Softmax"],
    "op:Softmax": ["Softmax"],
    "tensor:/body/act": ["/body/act"],
    "**": NAMES,
}


@pytest.mark.parametrize("text", HITS)
def test_patterns_hit(text: str) -> None:
    pattern = parsed(text, NAMES, "argument")
    assert pattern is not None
    assert [name for name in NAMES if pattern.hits(name)] == HITS[text]


PLAIN = st.text(st.characters(exclude_characters="*?:"))


@given(PLAIN, PLAIN, PLAIN)
def test_a_star_stands_for_anything_and_the_rest_for_itself(start: str, middle: str, end: str) -> None:
    pattern = parsed(f"{start}*{end}", (), "argument")
    assert pattern is not None
    assert pattern.hits(start + middle + end)
    assert pattern.hits(middle) == (
        middle.startswith(start) and middle.endswith(end) and len(middle) >= len(start) + len(end)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/Head/*", "the pattern '/Head/*' hits no node; did you mean /head/conv[0]/Conv or /head/act?"),
        ("/haed/*", "did you mean /head/"),
        ("*/akt", "did you mean /head/act or /body/act?"),
        ("re:/body/akt", "did you mean /body/act"),
        ("zzz*", "the pattern 'zzz*' hits no node"),
    ],
)
def test_no_hit_names_the_nearest(text: str, message: str) -> None:
    pattern = parsed(text, NAMES, "nodes_to_exclude")
    assert pattern is not None
    told = str(no_hit(pattern, "nodes_to_exclude", "node", NAMES))
    assert told.startswith("nodes_to_exclude: ")
    assert message in told


def test_a_broken_expression_is_told() -> None:
    with pytest.raises(OptionError, match=r"nodes_to_exclude: 're:\(' is no regular expression"):
        parsed("re:(", (), "nodes_to_exclude")
