"""A sitecustomize that ours hides still runs, and nothing of onnxruntime is imported before somebody wants it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ort_vitis_plugin.compat.client import environment


def test_a_sitecustomize_that_is_there_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.theirs = 5", encoding="utf-8")
    code = "import sys; print(theirs, 'onnxruntime' in sys.modules)"
    env = environment(base={**os.environ, "PYTHONPATH": str(tmp_path)})
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert found.stdout.split() == ["5", "False"]
