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


# A scale for the whole tensor, and one for each slice of an axis that has others behind it.
FEW = ("tensor", "middle")


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("layouts", [FEW, pytest.param((), marks=pytest.mark.slow)], ids=["few", "all"])
@pytest.mark.usefixtures("library")
def test_kernels(layouts: tuple[str, ...], isa: str) -> None:
    sweep("library", "17", *layouts, ORT_VITIS_ISA=isa)


OPSETS = (10, 11, 12, 13, 14, 15, 17, 19, 21, NEWEST_OPSET)


def test_functions_in_one_layout() -> None:
    sweep("functions", "17", "middle")


@pytest.mark.slow
@pytest.mark.parametrize("opset", OPSETS)
def test_functions(opset: int) -> None:
    sweep("functions", str(opset))


@pytest.mark.parametrize(
    "opset", [17, *(pytest.param(each, marks=pytest.mark.slow) for each in OPSETS[3:] if each != 17)]
)
def test_eight_types_in_one_model(opset: int) -> None:
    sweep("mixed", str(opset))
