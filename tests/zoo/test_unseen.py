"""Samples that taught, others and those of the evaluation are told apart."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.testing import graph
from tests.zoo import unseen

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "t (float[1, 4] x) => (float[1, 4] y) { y = MatMul(x, w) }"


def test_each_part_has_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file forgets the second half of its input: the samples differ in where they are not zero."""
    half = np.diag(np.float32([1, 1, 0, 0]))
    for name, weights in (("f", np.eye(4, dtype=np.float32)), ("q", half)):
        onnx.save(graph(TEXT, 17, {"w": weights}), tmp_path / f"{name}.onnx")
    first, last, both = np.float32([[1, -1, 0, 0]]), np.float32([[0, 0, 1, -1]]), np.float32([[1, -1, 1, -1]])

    def evaluate(session: Any) -> float:
        return float(session.run(None, {session.get_inputs()[0].name: both})[0].sum())

    case = SimpleNamespace(path=tmp_path / "f.onnx", calib=[{"x": first}, {"x": last}], evaluate=evaluate)
    monkeypatch.setattr(unseen, "zoo_at", lambda path: SimpleNamespace(load_t=lambda: case))
    monkeypatch.setattr(sys, "argv", ["unseen", "t", str(tmp_path / "q.onnx"), "--zoo", "zoo.py", "--taught", ":1"])
    assert unseen.main() == 0
    assert capsys.readouterr().out == (
        "q.onnx: score 0.0000, taught 0.0000, other calibration samples 1.0000, evaluation 0.5000\n"
    )
