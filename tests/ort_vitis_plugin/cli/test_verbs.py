"""What every verb has in common: help that fits, near misses, gates, several models."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ort_vitis_plugin.cli.main import main, ort_vitis
from ort_vitis_plugin.errors import SelfCheckError
from tests.ort_vitis_plugin.cli.commands import ROOT, process, run

VERBS = [name for name, command in ort_vitis.commands.items() if not command.hidden]


@pytest.mark.parametrize("verb", VERBS)
def test_help_fits_a_page(verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([verb, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 100
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    flags = {flag for option in ort_vitis.commands[verb].params for flag in option.opts if flag.startswith("--")}
    assert [flag for flag in flags if not any(flag in line.split() for line in lines)] == []


def test_help_has_every_verb_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    shown = capsys.readouterr().out
    planned = "quantize forecast evaluate errors calibrate preprocess info fix-shape convert dump run options explain"
    for name in (*planned.split(), "plugins", "docs", "demo", "device-report", "completion"):
        assert f"  {name} " in shown
    assert "convert-" not in shown


NEAR = {
    "quantise x.onnx": "there is no verb 'quantise'; did you mean quantize?",
    "quantize digits.onnx --presett cpu": "--preset",
    "quantize digits.onnx --preset XINT9": "did you mean XINT8",
    "convert qdq-to-qop digits.onnx": "qdq-to-qoperator",
    "quantize": "Missing argument",
    "convert-qdq-to-qoperator nothing.onnx": "'nothing.onnx' does not exist",
}


@pytest.mark.parametrize(("line", "hint"), NEAR.items())
def test_a_wrong_call_is_one_line_and_status_2(
    line: str, hint: str, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(demo.rglob("*"))
    assert run(line) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert hint in shown.err
    assert sorted(demo.rglob("*")) == before


def test_the_output_has_the_presets_name(demo: Path) -> None:
    assert run("quantize digits.onnx --data samples.npz --samples 4 --preset xint8 -q") == 0
    assert run("quantize digits.onnx --data samples.npz --samples 4 -q") == 0
    assert {file.name for file in demo.glob("digits.*.onnx")} == {"digits.XINT8.onnx", "digits.quantized.onnx"}


def test_several_models_have_a_summary(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (demo / "second.onnx").write_bytes((demo / "digits.onnx").read_bytes())
    line = "quantize digits.onnx second.onnx none.onnx --data samples.npz --samples 4 -o out --json all.json"
    assert run(line) == 2
    assert {file.name for file in (demo / "out").iterdir()} == {"digits.quantized.onnx", "second.quantized.onnx"}
    summary = capsys.readouterr().out.split("Models")[1]
    assert "out/second.quantized.onnx" in summary
    assert "'none.onnx' does not exist" in summary
    reports = json.loads((demo / "all.json").read_text())
    assert reports["digits.onnx"]["sqnr"] == reports["second.onnx"]["sqnr"]
    assert "does not exist" in reports["none.onnx"]["error"]
    assert run("quantize digits.onnx second.onnx -o all.onnx") == 2


def test_of_several_models_one_that_cannot_be_done_is_status_1(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (demo / "second.onnx").write_bytes((demo / "digits.onnx").read_bytes())

    def fails(*_: object, **__: object) -> None:
        raise SelfCheckError("it fails")

    monkeypatch.setattr("ort_vitis_plugin.cli.quantize._quantized", fails)
    assert run("quantize digits.onnx second.onnx -o out -q") == 1
    assert run("quantize digits.onnx -o out.onnx -q") == 1


def test_gates_are_status_3(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = "quantize digits.onnx -o q.onnx --data samples.npz --preset ipu_cnn --option Recipe=plain -q"
    assert run(f"{base} --min-sqnr 10") == 0
    assert run(f"{base} --min-sqnr 60") == 3
    assert "logits has " in capsys.readouterr().err
    judged = "evaluate digits.onnx q.onnx --data pictures --scale 0.0041666667"
    assert run(f"{judged} --max-drop 2% --min-sqnr 10") == 0
    assert run(f"{judged} --min-sqnr 60") == 3
    assert run(f"{judged} --max-drop 0.0") in (0, 3)
    assert run(f"{judged} --max-drop much") == 2
    assert run("evaluate digits.onnx q.onnx --data samples.npz --max-drop 1%") == 2
    assert "--max-drop needs samples with labels" in capsys.readouterr().err


def test_import_of_the_command_line_is_light() -> None:
    """Help needs onnxruntime's package and click, but no plugin, no session, no table."""
    code = "import sys, ort_vitis_plugin.cli.main; print(' '.join(sys.modules))"
    loaded = set(process("-c", code, folder=ROOT).stdout.split())
    heavy = {"pluggy", "onnxruntime_extensions", "ort_vitis_upstream", "ort_vitis_plugin.pipeline.pipeline", "tomllib"}
    assert loaded & heavy == set()
