"""``ort-vitis evaluate`` compares a quantized model with its float model, output by output."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.ort_vitis_plugin.cli.commands import run


def test_evaluate_compares_outputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("evaluate model.onnx model.onnx --data samples.npz") == 0
    assert "inf dB" in capsys.readouterr().out
    model = onnx.load("model.onnx")
    weight = next(t for t in model.graph.initializer if len(t.dims) == 2)
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight) * np.float32(1.01), weight.name))
    onnx.save(model, "other.onnx")
    assert run("evaluate model.onnx other.onnx --data samples.npz") == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "logits" in line)
    assert 35 < float(row.split()[1]) < 45  # 1 % of all but the bias: near 40 dB
