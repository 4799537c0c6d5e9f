"""``ort-vitis tune`` writes model, configuration and trials, and ends with 3 where the goal is not reached."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.cli.main import main
from tests.ort_vitis_plugin.trials.test_tune import detector, feeds

pytestmark = pytest.mark.filterwarnings("ignore::ort_vitis_plugin.errors.AccuracyWarning")


def run(command: str) -> int:
    return main(command.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(detector(), "model.onnx")
    np.savez("samples.npz", x=np.concatenate([feed["x"] for feed in feeds()]))
    return tmp_path


def test_what_is_found_is_written_and_gives_the_same_bytes_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("tune model.onnx -o tuned.onnx --data samples.npz --goal 25 --json out.json") == 0
    shown = capsys.readouterr().out
    assert "best: " in shown
    assert "Not beaten" in shown
    told = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert told["reached"]
    assert told["best"]["configuration"]["nodes_to_exclude"] == ["sg"]
    assert run("quantize model.onnx -o again.onnx --data samples.npz --config tuned.toml -q") == 0
    assert (folder / "again.onnx").read_bytes() == (folder / "tuned.onnx").read_bytes()


def test_a_goal_that_is_not_reached_is_a_gate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "tune",
                "model.onnx",
                "-o",
                "tuned.onnx",
                "--data",
                "samples.npz",
                "--goal",
                "500",
                "--budget",
                "0.001s",
                "-q",
            ]
        )
        == 3
    )
    assert "gate: the goal is 500" in capsys.readouterr().err
    assert (folder / "tuned.onnx").is_file()


def test_a_metric_is_a_function_of_a_file(folder: Path) -> None:
    Path("mine.py").write_text("def score(session):\n    return 1.0\n", encoding="utf-8")
    assert (
        main(
            [
                "tune",
                "model.onnx",
                "-o",
                "t.onnx",
                "--data",
                "samples.npz",
                "--metric",
                "mine.py:score",
                "--goal",
                "1",
                "-q",
            ]
        )
        == 0
    )


def test_auto_is_a_short_search(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize model.onnx -o auto.onnx --data samples.npz --preset auto") == 0
    assert "best: " in capsys.readouterr().out
    assert (folder / "auto.toml").is_file()


def test_a_part_below_the_gate_is_told_where_its_output_is_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "quantize model.onnx -o q.onnx --data samples.npz --preset ipu_cnn --min-sqnr 15 --json - -q"
    assert run(f"{command} --option Attribution=False") == 3
    shown = capsys.readouterr()
    assert "y[:, 4:7] has" in shown.err
    assert json.loads(shown.out)["sqnr"]["y"] > 15
