"""Who starts a command without streams gets the same file, and no defect."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.cli.standard_streams import standard_streams
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.cli.commands import ROOT


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_words_for_a_stream_that_is_not_there_go_nowhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, name, None)
    with standard_streams():
        print("words", file=getattr(sys, name))
        getattr(sys, name).flush()
    assert getattr(sys, name) is None


def test_streams_that_are_there_stay() -> None:
    before = sys.stdout, sys.stderr
    with standard_streams():
        assert (sys.stdout, sys.stderr) == before


def test_a_command_without_streams_writes_the_same_file(tmp_path: Path) -> None:
    source, data = tmp_path / "m.onnx", tmp_path / "d.npz"
    onnx.save(graph("t (float[1,4] x) => (float[1,4] y) { y = MatMul(x, w) }", 17, {"w": np.eye(4, dtype="f")}), source)
    np.savez(data, x=np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32))
    files = [str(source), "--data", str(data), "-o"]
    assert main(["quantize", *files, str(tmp_path / "a.onnx")]) == 0
    script = f"exec '{sys.executable}' -m ort_vitis_plugin quantize \"$@\" <&- >&- 2>&-"
    command = ["sh", "-c", script, "sh", *files, str(tmp_path / "b.onnx")]
    places = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}"}
    assert subprocess.run(command, env=os.environ | places, check=False).returncode == 0
    assert (tmp_path / "b.onnx").read_bytes() == (tmp_path / "a.onnx").read_bytes()
