"""A script of others runs unchanged, with us imported in it and in whatever Python it starts."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ort_vitis_plugin.compat.client import AT_START, environment, run_client

CLIENT = """
import multiprocessing, subprocess, sys
from concurrent.futures import ProcessPoolExecutor

ASKS = "import sys; from onnxruntime.quantization import quantize_static; " \\
       "print('_ort_vitis_route' in quantize_static.__code__.co_varnames)"

def attached(_=None):
    from onnxruntime.quantization import quantize_static
    return "_ort_vitis_route" in quantize_static.__code__.co_varnames

if __name__ == "__main__":
    before = "ort_vitis_plugin" in sys.modules or "onnxruntime" in sys.modules
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        spawned = list(pool.map(attached, [0]))[0]
    started = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True).stdout.strip()
    print(before, attached(), spawned, started, *sys.argv[1:])
    sys.exit(7)
"""


def ort_vitis(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).resolve().parents[3]
    return subprocess.run(
        [sys.executable, "-m", "ort_vitis_plugin", "run", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(root)},
    )


def test_a_script_and_the_processes_that_it_starts(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT, encoding="utf-8")
    found = ort_vitis("client.py", "--flag", "-o", "x", cwd=tmp_path)
    assert found.stdout.split() == ["False", "True", "True", "True", "--flag", "-o", "x"], found.stderr
    assert found.returncode == 7


def test_a_module_and_names_of_an_older_package(tmp_path: Path) -> None:
    """Its exit status is the module's: here 0, above 7."""
    text = "import vai_q_onnx, ort_vitis_plugin; print(vai_q_onnx.quantize_static is ort_vitis_plugin.quantize_static)"
    (tmp_path / "tool.py").write_text(text, encoding="utf-8")
    found = ort_vitis("-m", "tool", cwd=tmp_path)
    assert (found.stdout.strip(), found.returncode) == ("True", 0), found.stderr


def test_the_environment_changes_nothing_else() -> None:
    base = {"PYTHONPATH": os.pathsep.join(["/one", "/two"]), "HOME": "/home"}
    found = environment(["a", "b"], base)
    assert found["PYTHONPATH"].split(os.pathsep)[:3] == [str(AT_START), "/one", "/two"]
    assert found["ORT_VITIS_NAMES"] == "a,b"
    assert environment(["a", "b"], found) == found
    assert found["HOME"] == "/home"
    assert base.keys() == {"PYTHONPATH", "HOME"}


@pytest.mark.skipif(sys.platform == "win32", reason="its processes are not ended by signals")
def test_a_script_that_a_signal_ends_has_the_status_of_a_shell() -> None:
    assert run_client(["-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]) == 128 + 9
