"""What onnxruntime computes of block operators is what numpy computes, output by output."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.testing import graph
from tests.zoo import simulated

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(0)
TEXT = "t (float[2, 16] x) => (float[2, 8] y, float[2, 8] z) { y = MatMul(x, w) z = Relu(y) }"


def test_each_output_has_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, samples = tmp_path / "t.onnx", [{"x": RNG.normal(size=(2, 16)).astype(np.float32)} for _ in range(6)]
    onnx.save(graph(TEXT, 17, {"w": RNG.normal(size=(16, 8)).astype(np.float32)}), path)
    case = SimpleNamespace(path=path, calib=samples)
    monkeypatch.setattr(simulated, "zoo_at", lambda path: SimpleNamespace(load_t=lambda: case))
    monkeypatch.setattr(sys, "argv", ["simulated", "t", "--zoo", "zoo.py"])
    assert simulated.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["t y", "t z"]
    assert all(abs(float(line.rsplit(" ", 1)[1])) < 0.5 for line in lines)


def test_decibels_take_all_samples_together() -> None:
    wanted, found = [[np.ones(2)], [np.zeros(2)]], [[np.ones(2)], [np.full(2, 0.1)]]
    assert simulated.decibels(wanted, found) == [pytest.approx(20.0)]
