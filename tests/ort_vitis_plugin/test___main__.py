"""The package runs as a program."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_module_runs_as_a_program() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "ort_vitis_plugin", "explain", "MinMSE"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "ort_vitis_pow2" in answer.stdout
