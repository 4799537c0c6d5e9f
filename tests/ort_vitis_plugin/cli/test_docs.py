"""``ort-vitis docs`` writes the tables of a source checkout; elsewhere it says what it needs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from ort_vitis_plugin.cli.main import main


def test_docs_of_an_installation_say_what_they_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["docs"], ["docs", "--check"]):
        assert main([*arguments, "--root", str(tmp_path)]) == 2
        assert "is no source checkout" in capsys.readouterr().err
