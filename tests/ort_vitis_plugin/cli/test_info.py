"""A file says what is in it and how it was made."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.ort_vitis_plugin.cli.commands import run


def test_info_tells_an_open_size_from_none(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.load("digits.onnx")
    first, *_ = model.graph.input[0].type.tensor_type.shape.dim
    first.Clear()
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, "open.onnx")
    assert run("info open.onnx") == 0
    shown = capsys.readouterr().out
    assert "float[?, 1, 8, 8]" in shown
    assert "float, rank unknown" in shown


def test_info_says_how_a_file_was_made(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize digits.onnx -o q.onnx --data samples.npz --samples 4 --preset A16W8 --exclude op:Gemm -q") == 0
    assert run("info q.onnx --json q.json") == 0
    shown = capsys.readouterr().out
    for part in ("VitisQuantizeLinear", "QInt16", "sha256:", "op:Gemm", "float[1, 10]"):
        assert part in shown
    made = json.loads((demo / "q.json").read_text())["made"]
    assert (made["samples"], made["target"], made["arguments"]) == (4, "cpu", {"nodes_to_exclude": ["op:Gemm"]})
    assert run("info digits.onnx") == 0
    assert "does not say how it was made" in capsys.readouterr().out
