"""README is true: its tables are current, its Python runs, and so do its commands."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.reference.pages import PAGES, stale_blocks

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
SHELL = [
    line for block in re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE) for line in block.splitlines()
]
COMMANDS = [line for line in SHELL if line.startswith("ort-vitis ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples run, one after the other: model.onnx and samples.npz are there."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copy(data.model_path(), folder / "model.onnx")
    np.savez(folder / "samples.npz", image=np.concatenate([f[data.INPUT] for f in data.evaluation_feeds(8)]))
    return folder


def test_every_block_is_current() -> None:
    assert stale_blocks(ROOT) == [], "run python -m ort_vitis_plugin docs"


def test_a_page_has_no_block_that_nobody_writes() -> None:
    for page, blocks in PAGES.items():
        assert set(re.findall(r"<!-- begin: ([a-z-]+) -->", (ROOT / page).read_text(encoding="utf-8"))) == set(blocks)


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_python_block_runs(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    exec(compile(PYTHON[number], f"README.md, Python block {number}", "exec"), {"__name__": "readme"})


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert main(shlex.split(command, comments=True)[1:]) == 0


def test_set_up_is_two_lines_that_need_nothing_else() -> None:
    first, second = (line for line in SHELL if not line.startswith("ort-vitis "))
    assert first == "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/ort-vitis demo"
    assert second == "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/python -m pytest"


def test_there_is_something_to_run() -> None:
    assert len(PYTHON) >= 4
    assert len(COMMANDS) >= 6
