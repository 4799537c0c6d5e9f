"""An old script runs as it is, its children too, and nothing of it stays."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys
from pathlib import Path

import onnx

from tests.ort_vitis_plugin.cli.commands import process, run

OLD = """
import subprocess, sys
import vai_q_onnx
from vai_q_onnx import PowerOfTwoMethod
from ort_vitis_plugin.demo import data
assert sys.argv[1:] == ["--flag", "value"]
reader, method = data.calibration_reader(4), PowerOfTwoMethod.MinMSE
vai_q_onnx.quantize_static("digits.onnx", "old.onnx", reader, calibrate_method=method)
child = "import vai_q_onnx; print(vai_q_onnx.QuantType.QInt8)"
print(subprocess.run([sys.executable, "-c", child], check=True, capture_output=True, text=True).stdout)
sys.exit(5)
"""


def test_an_old_script_runs_and_so_do_its_children(demo: Path) -> None:
    (demo / "old.py").write_text(OLD)
    found = process("-m", "ort_vitis_plugin", "run", "old.py", "--flag", "value", folder=demo)
    assert (found.returncode, found.stderr) == (5, "")
    assert "QInt8" in found.stdout
    assert onnx.load("old.onnx").graph.node
    alone = process("-c", "import vai_q_onnx", folder=demo)
    assert "ModuleNotFoundError" in alone.stderr


def test_an_old_script_leaves_nothing_here(demo: Path) -> None:
    before = sys.argv, list(sys.path), dict(os.environ), list(sys.meta_path)
    (demo / "old.py").write_text("import vai_q_onnx\nraise SystemExit('no')\n")
    assert run("run old.py") == 1
    assert (sys.argv, list(sys.path), dict(os.environ), list(sys.meta_path)) == before
    assert run("run none.py") == 2
