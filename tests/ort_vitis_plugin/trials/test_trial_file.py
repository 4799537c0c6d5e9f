"""Rows are found again by configuration; a line that was broken off is none, and a foreign file stays as it is."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ort_vitis_plugin.errors import OutputError
from ort_vitis_plugin.trials.trial import Trial
from ort_vitis_plugin.trials.trial_file import TrialFile, digest_of, lines_of

HEAD = {"model": "digest", "metric": "sqnr"}
FIRST = Trial("as asked for", {}, 20.0, on_device=9, size=100, seconds=1.5)
SECOND = Trial("without a", {"nodes_to_exclude": ["a"]}, 25.0, gain=5.0, on_device=8, size=120, seconds=2.5)


def test_rows_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    written = TrialFile(path, HEAD)
    for trial in (FIRST, SECOND):
        written.add(trial)
    again = TrialFile(path, HEAD)
    assert again.find("without a", dict(SECOND.configuration), FIRST) == SECOND
    assert again.find("never", {"per_channel": True}, FIRST) is None
    assert again.resumed == 1
    assert written.find("without a", dict(SECOND.configuration), FIRST) is None  # it has read nothing


def test_a_row_that_was_judged_again_stands_in_place_of_the_first(tmp_path: Path) -> None:
    path, judged = tmp_path / "t.jsonl", replace(FIRST, exchanged=22.0)
    written = TrialFile(path, HEAD)
    for trial in (FIRST, SECOND, judged):
        written.add(trial)
    assert [row.get("exchanged") for row in lines_of(path)[1:]] == [22.0, None]
    assert TrialFile(path, HEAD).find("as asked for", {}, None) == judged


def test_a_line_that_was_broken_off_is_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    TrialFile(path, HEAD).add(FIRST)
    path.write_text(path.read_text(encoding="utf-8") + '{"what": "half', encoding="utf-8")
    assert lines_of(path)[-1] == {}
    TrialFile(path, HEAD)
    assert [json.loads(line)["version"] for line in path.read_text(encoding="utf-8").splitlines()[:1]] == [1]
    assert [row.get("what") for row in lines_of(path)] == [None, FIRST.what]


def test_trials_of_something_else_begin_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    TrialFile(path, HEAD).add(FIRST)
    other = TrialFile(path, {**HEAD, "metric": "top1"})
    assert other.find("as asked for", {}, None) is None
    assert len(lines_of(path)) == 1


def test_a_foreign_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not ours\n", encoding="utf-8")
    with pytest.raises(OutputError, match="is no file of trials; name another"):
        TrialFile(path, HEAD)
    assert path.read_text(encoding="utf-8") == "not ours\n"


def test_without_a_path_nothing_is_written() -> None:
    file = TrialFile(None, HEAD)
    file.add(FIRST)
    assert file.find("as asked for", {}, None) is None


def test_samples_in_another_order_have_another_digest() -> None:
    one, two = {"x": np.zeros(2, np.float32)}, {"x": np.ones(2, np.float32)}
    assert digest_of([one, two]) == digest_of([{**one}, {**two}])
    assert (
        len({digest_of(feeds) for feeds in ([one, two], [two, one], [one], [{"x": np.zeros((1, 2), np.float32)}])}) == 4
    )
    words = {"x": np.array(["a", "b"], object)}
    assert digest_of([words]) == digest_of([{"x": np.array(["a", "b"], object)}])
