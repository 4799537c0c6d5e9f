"""``ort-vitis report`` and ``quantize --report`` draw a page; ``--json`` gives its data."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.demo import data

pytest.importorskip("jinja2")


def run(command: str) -> int:
    return main(command.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import numpy as np

    monkeypatch.chdir(tmp_path)
    shutil.copy(data.model_path(), "model.onnx")
    feeds = list(iter(data.calibration_reader(6).get_next, None))
    np.savez("samples.npz", image=np.concatenate([feed[data.INPUT] for feed in feeds]))
    return tmp_path


def test_a_page_is_drawn_with_trials(folder: Path) -> None:
    trial = {"what": "as asked for", "score": 1.0, "on_device": 2, "size": 3, "failure": ""}
    broken_off = '{"what": "half a li'
    Path("t.jsonl").write_text("\n".join((json.dumps({"version": 1}), json.dumps(trial), broken_off)), encoding="utf-8")
    command = "report model.onnx -o page.html --data samples.npz --preset ipu_cnn --trials t.jsonl --json out.json"
    assert run(command) == 0
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert '<h2 id="verdict">' in text
    assert "as asked for" in text
    assert "model.onnx, quantized" in text
    told = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert set(told) == {"version", "report", "layers", "nodes", "trials"}


def test_quantize_draws_a_page_beside_its_file(folder: Path) -> None:
    command = "quantize model.onnx -o q.onnx --data samples.npz --preset ipu_cnn --report page.html -q"
    assert run(command) == 0
    assert (folder / "q.onnx").is_file()
    assert "Verdict" in (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("report model.onnx -o nowhere/page.html --data samples.npz", "does not exist; create it first"),
        ("quantize model.onnx -o q.onnx --data samples.npz --report nowhere/p.html", "does not exist; create it first"),
        ("quantize model.onnx model.onnx --data samples.npz --report p.html", "draws one model"),
        ("report model.onnx -o page.html --data samples.npz --trials samples.npz", "no file of `ort-vitis tune`"),
        ("report model.onnx -o page.html --data samples.npz --trials numbers.txt", "no file of `ort-vitis tune`"),
    ],
)
def test_what_cannot_be_drawn_is_told_before_work(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, text: str
) -> None:
    Path("numbers.txt").write_text("5\n6\n", encoding="utf-8")
    assert run(command) == 2
    assert text in capsys.readouterr().err
    assert not (folder / "q.onnx").exists()
