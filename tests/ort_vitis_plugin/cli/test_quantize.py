"""``ort-vitis quantize`` writes the model and nothing else, and its flags win over presets."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.cli.main import main
from tests.ort_vitis_plugin.cli.commands import files, op_types, run


def test_quantize_writes_the_model_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "model.onnx").read_bytes()
    assert run("quantize model.onnx -o int8.onnx --data samples.npz --preset ipu_cnn") == 0
    assert files(folder) == {"model.onnx", "samples.npz", "int8.onnx"}
    assert (folder / "model.onnx").read_bytes() == before
    assert "QuantizeLinear" in op_types(folder / "int8.onnx")
    shown = capsys.readouterr().out
    for part in ("Operators", "Moved by hardware rules", "AlignPool", "SQNR", "bytes float", "written: int8.onnx"):
        assert part in shown


def test_quantize_json_is_the_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "quantize model.onnx -o q.onnx --data samples.npz --exclude /stem/stem.0/Conv --json report.json -q"
    assert run(arguments) == 0
    assert capsys.readouterr().out == ""
    report = json.loads((folder / "report.json").read_text())
    assert report["left_float"]["/stem/stem.0/Conv"] == "Conv: in nodes_to_exclude"
    assert report["sqnr"]["logits"] > 10


def test_preset_is_the_recommended_configuration(folder: Path) -> None:
    """ipu_cnn: powers of two and unsigned activations; ipu_transformer: neither."""
    kinds = {}
    for preset in ("ipu_cnn", "ipu_transformer"):
        assert (
            main(["quantize", "model.onnx", "-o", f"{preset}.onnx", "--data", "samples.npz", "--preset", preset]) == 0
        )
        model = onnx.load(folder / f"{preset}.onnx")
        constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
        pairs = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
        scales = np.array([constants[node.input[1]] for node in pairs], dtype=np.float64)
        kinds[preset] = (
            bool(np.all(np.log2(scales) == np.round(np.log2(scales)))),
            {str(constants[node.input[2]].dtype) for node in pairs},
        )
    assert kinds == {"ipu_cnn": (True, {"uint8"}), "ipu_transformer": (False, {"int8"})}


def test_flags_win_over_the_preset(folder: Path) -> None:
    arguments = "quantize model.onnx -o q.onnx --data samples.npz --preset ipu_cnn --activation-type QInt8"
    assert run(arguments) == 0
    model = onnx.load(folder / "q.onnx")
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    zeros = [constants[node.input[2]].dtype for node in model.graph.node if node.op_type == "QuantizeLinear"]
    assert set(map(str, zeros)) == {"int8"}


def test_without_data_random_samples_calibrate_and_it_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize model.onnx -o q.onnx --preset cpu") == 0
    assert "random data" in capsys.readouterr().out
