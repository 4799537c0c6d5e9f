"""``ort-vitis explain-tensor`` quantizes as ``quantize`` would, writes no model, and names what is asked for."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.demo import data


def test_a_tensor_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = tmp_path / "story.json"
    arguments = ["explain-tensor", data.model_path(), "logits", "--preset", "ipu_cnn", "--json", str(told)]
    assert main([str(each) for each in arguments]) == 0
    shown = capsys.readouterr().out
    assert "method MinMSE" in shown
    assert "position" in shown
    assert [file.name for file in tmp_path.iterdir()] == ["story.json"]
    story = json.loads(told.read_text())
    assert story["name"] == "logits"
    assert story["error"] > 0


def test_flags_of_quantize_count(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(data.model_path())
    assert main(["explain-tensor", model, "image", "--method", "Percentile", "--activation-type", "QUInt8"]) == 0
    shown = capsys.readouterr().out
    assert "Percentile" in shown
    assert "QUInt8" in shown


def test_a_tensor_of_a_float_node_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(data.model_path())
    node = next(each for each in onnx.load(model).graph.node if each.op_type == "Conv")
    assert main(["explain-tensor", model, node.input[1], "--exclude", node.name]) == 0
    assert "in nodes_to_exclude" in " ".join(capsys.readouterr().out.split())


def test_an_unknown_tensor_is_an_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-tensor", str(data.model_path()), "logit"]) == 1
    assert "no tensor 'logit'; did you mean logits" in capsys.readouterr().err
