"""Kernels and function bodies give the bits of the numpy reference, for every type, layout and awkward number."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnxruntime as ort
import pytest

SWEEP = Path(__file__).with_name("sweep.py")
ROOT = SWEEP.parents[2]
NEWEST_OPSET = 24 if tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 23) else 21


def sweep(*arguments: str, **environment: str) -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "plugins"), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, str(SWEEP), *arguments],
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode == 77:
        pytest.skip(f"this processor does not run {environment['ORT_VITIS_ISA']}")
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    cases, wrong = result.stdout.split()[-2:]
    assert int(cases) > 30
    assert int(wrong) == 0


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
@pytest.mark.usefixtures("library")
def test_kernels(isa: str) -> None:
    sweep("library", ORT_VITIS_ISA=isa)


SLOW = [pytest.param(opset, marks=pytest.mark.slow) for opset in (10, 11, 12, 13, 14, 15, 19, 21, NEWEST_OPSET)]


@pytest.mark.parametrize("opset", [17, *SLOW])
def test_functions(opset: int) -> None:
    sweep("functions", str(opset))


@pytest.mark.parametrize("opset", [17, *SLOW[3:]])
def test_eight_types_in_one_model(opset: int) -> None:
    sweep("mixed", str(opset))
