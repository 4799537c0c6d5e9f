"""Findings are plain data, and a second answer takes over what the first one found."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json

from ort_vitis_plugin.report.findings import Findings
from ort_vitis_plugin.report.tensor_story import TensorStory


def test_a_note_is_written_once() -> None:
    found = Findings()
    found.note("a")
    found.note("a")
    assert found.notes == ["a"]


def test_infinite_decibels_become_none() -> None:
    data = json.loads(Findings(sqnr={"y": float("inf"), "z": 20.0}).to_json())
    assert data["sqnr"] == {"y": None, "z": 20.0}


def test_no_number_that_json_lacks_is_written() -> None:
    story = TensorStory("t", "activation", error=float("nan"), scale=(float("inf"), 1.0))
    text = Findings(seconds={"load": float("nan")}, tensors={"t": story}).to_json()

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    data = json.loads(text, parse_constant=refused)
    assert data["seconds"] == {"load": None}
    assert (data["tensors"]["t"]["error"], data["tensors"]["t"]["scale"]) == (None, [None, 1.0])


def test_a_second_answer_continues() -> None:
    first = Findings(notes=["one", "old"], seconds={"load": 1.0, "emit": 2.0}, non_finite={"x": "NaN"}, float_bytes=7)
    second = Findings(notes=["one", "two"], seconds={"emit": 3.0})
    second.continue_from(first, without=["old"])
    assert second.notes == ["one", "two"]
    assert second.seconds == {"emit": 5.0, "load": 1.0}
    assert (second.non_finite, second.float_bytes) == ({"x": "NaN"}, 7)
