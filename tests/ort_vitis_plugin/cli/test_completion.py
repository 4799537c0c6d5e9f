"""Shells load the completion script, and are told verbs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.ort_vitis_plugin.cli.commands import process, run


def test_completion_scripts_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = process("-m", "ort_vitis_plugin", "completion", "bash", folder=tmp_path)
    assert found.returncode == 0
    (tmp_path / "completion").write_text(found.stdout)
    loaded = subprocess.run(
        ["bash", "-c", "source completion && complete -p ort-vitis"], capture_output=True, text=True, cwd=tmp_path
    )
    assert (loaded.returncode, loaded.stderr) == (0, "")
    assert "ort-vitis" in loaded.stdout
    for shell in ("zsh", "fish"):
        assert run(f"completion {shell}") == 0
        assert "ort-vitis" in capsys.readouterr().out


def test_completion_knows_verbs(tmp_path: Path) -> None:
    words = {"COMP_WORDS": "ort-vitis qu", "COMP_CWORD": "1", "_ORT_VITIS_COMPLETE": "bash_complete"}
    assert "quantize" in process("-m", "ort_vitis_plugin", folder=tmp_path, **words).stdout
