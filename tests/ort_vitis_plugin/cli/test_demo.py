"""``ort-vitis demo`` tells the accuracies, and keeps a file only where it is told to."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from ort_vitis_plugin.cli.main import main
from tests.ort_vitis_plugin.cli.commands import files, op_types


def test_demo_keeps_no_file_and_tells_the_accuracies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files(folder)
    assert main(["demo"]) == 0
    assert files(folder) == before
    lines = capsys.readouterr().out.splitlines()
    float_accuracy, int8_accuracy = (
        float(next(line for line in lines if line.strip().startswith(f"{kind} accuracy")).split()[-1].rstrip("%"))
        for kind in ("float", "int8")
    )
    decibels = float(next(line for line in lines if "SQNR of the logits" in line).split()[-2])
    assert float_accuracy >= 96
    assert int8_accuracy >= float_accuracy - 1
    assert decibels >= 20


@pytest.mark.slow
def test_demo_writes_where_it_is_told(folder: Path) -> None:
    assert main(["demo", "-o", "demo.onnx"]) == 0
    assert "DequantizeLinear" in op_types(folder / "demo.onnx")
