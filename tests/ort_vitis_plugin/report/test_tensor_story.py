"""A story leaves out what there is not, and is plain data."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json

import pytest

from ort_vitis_plugin.report.tensor_story import TensorStory


def test_only_what_there_is_is_told() -> None:
    story = TensorStory("t", "activation", dropped="fused")
    assert dict(story.lines()) == {"role": "activation", "no pair": "fused"}


def test_channels_are_told_as_a_spread() -> None:
    lines = dict(TensorStory("w", "weight", scale=(0.5, 0.25), zero_point=(0, 0), axis=1).lines())
    assert lines["scale"] == "0.25 to 0.5 along axis 1 (2 channels)"
    assert lines["zero point"] == "0"


def test_moves_and_changes_are_told() -> None:
    lines = list(TensorStory("b", "bias", moved_from=7, moved_by=("A", "B"), changes=("one", "two")).lines())
    assert ("moved", "from position 7 by A, B") in lines
    assert [text for subject, text in lines if subject == "changed"] == ["one", "two"]


@pytest.mark.parametrize(("error", "decibels"), [(0.01, 20.0), (0.0, float("inf")), (None, None)])
def test_decibels(error: float | None, decibels: float | None) -> None:
    story = TensorStory("t", "activation", error=error)
    assert story.decibels == decibels
    finite = decibels is not None and decibels < 1e9
    assert json.loads(json.dumps(story.as_dict()))["decibels"] == (decibels if finite else None)
