"""Results are drawn, or written as JSON that every program reads."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import math
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from ort_vitis_plugin.cli.output import Output

FOUND = {"a": math.inf, 1: (Path("x"), True, None), "ü": {"n": math.nan}}
READ = {"a": None, "1": ["x", True, None], "ü": {"n": None}}


@pytest.mark.parametrize("quiet", [False, True])
def test_stdout_has_nothing_but_json(quiet: bool, capsys: pytest.CaptureFixture[str]) -> None:
    out = Output("-", quiet)
    with redirect_stdout(sys.stderr):
        out.print("a line")
        out.table("t", ("a",), [("b",)])
        out.data(FOUND)
    shown = capsys.readouterr()
    assert json.loads(shown.out) == READ
    assert shown.err == ""


def test_a_file_has_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(str(tmp_path / "r.json"))
    out.print("a line")
    out.data(FOUND)
    assert capsys.readouterr().out == "a line\n"
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8")) == READ
