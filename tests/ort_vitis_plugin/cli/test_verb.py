"""A flag that may be repeated takes all words up to the next flag, a model aside; logging is given back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
import rich_click as click

from ort_vitis_plugin.cli.output import Output
from ort_vitis_plugin.cli.verb import verb

WORDS = {
    "--exclude A B": ("A", "B"),
    "--exclude A --exclude B": ("A", "B"),
    "--exclude A B m.onnx": ("A", "B"),
    "--exclude A B -q": ("A", "B"),
    "--exclude -1 2": ("-1", "2"),
    "-q": (),
}


@pytest.mark.parametrize("words", WORDS)
def test_words_of_a_flag(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[tuple[str, ...]] = []

    @verb("try")
    @click.argument("model", required=False)
    @click.option("--exclude", multiple=True)
    def command(out: Output, model: str | None, exclude: tuple[str, ...]) -> None:
        """Try."""
        assert model == ("m.onnx" if "m.onnx" in words else None)
        seen.append(exclude)

    assert command.main(words.split(), standalone_mode=False) == 0
    assert seen == [WORDS[words]]


def test_logging_and_progress_are_given_back() -> None:
    log = logging.getLogger()
    before = log.level, list(log.handlers), os.environ.get("ORT_VITIS_PROGRESS")

    @verb("try", examples=("ort-vitis try",))
    def command(out: Output) -> int:
        """Try.

        Raises:
            OptionError: never.
        """
        assert os.environ["ORT_VITIS_PROGRESS"] == "0"
        return 5

    assert command.main(["-q", "-vv"], standalone_mode=False) == 5
    assert (log.level, list(log.handlers), os.environ.get("ORT_VITIS_PROGRESS")) == before
    assert command.help is not None
    assert "Example:\n  ort-vitis try" in command.help
    assert "Raises" not in command.help
