"""What every verb has in common: help that fits, near misses, gates, several models, completion, old scripts."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from ort_vitis_plugin.cli.main import main, ort_vitis
from ort_vitis_plugin.demo.export import export_demo
from ort_vitis_plugin.errors import SelfCheckError

ROOT = Path(__file__).resolve().parents[3]
VERBS = [name for name, command in ort_vitis.commands.items() if not command.hidden]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo is exported: digits.onnx, samples.npz, pictures."""
    export_demo(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> int:
    return main(line.split())


def process(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=folder, env=known | environment
    )


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
    line: str, hint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.rglob("*"))
    assert run(line) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert hint in shown.err
    assert sorted(folder.rglob("*")) == before


def test_the_output_has_the_presets_name(folder: Path) -> None:
    assert run("quantize digits.onnx --data samples.npz --samples 4 --preset xint8 -q") == 0
    assert run("quantize digits.onnx --data samples.npz --samples 4 -q") == 0
    assert {file.name for file in folder.glob("digits.*.onnx")} == {"digits.XINT8.onnx", "digits.quantized.onnx"}


def test_several_models_have_a_summary(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "second.onnx").write_bytes((folder / "digits.onnx").read_bytes())
    line = "quantize digits.onnx second.onnx none.onnx --data samples.npz --samples 4 -o out --json all.json"
    assert run(line) == 2
    assert {file.name for file in (folder / "out").iterdir()} == {"digits.quantized.onnx", "second.quantized.onnx"}
    summary = capsys.readouterr().out.split("Models")[1]
    assert "out/second.quantized.onnx" in summary
    assert "'none.onnx' does not exist" in summary
    reports = json.loads((folder / "all.json").read_text())
    assert reports["digits.onnx"]["sqnr"] == reports["second.onnx"]["sqnr"]
    assert "does not exist" in reports["none.onnx"]["error"]
    assert run("quantize digits.onnx second.onnx -o all.onnx") == 2


def test_of_several_models_one_that_cannot_be_done_is_status_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "second.onnx").write_bytes((folder / "digits.onnx").read_bytes())

    def fails(*_: object, **__: object) -> None:
        raise SelfCheckError("it fails")

    monkeypatch.setattr("ort_vitis_plugin.cli.quantize._quantized", fails)
    assert run("quantize digits.onnx second.onnx -o out -q") == 1
    assert run("quantize digits.onnx -o out.onnx -q") == 1


def test_gates_are_status_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = "quantize digits.onnx -o q.onnx --data samples.npz --preset ipu_cnn -q"
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


def test_a_configuration_is_saved_and_read(folder: Path) -> None:
    flags = "--preset A16W8 --exclude op:Gemm --option CLESteps=2 --cle --data samples.npz --samples 4 --per-channel"
    assert main(["quantize", "digits.onnx", "-o", "a.onnx", "-q", *flags.split(), "--save-config", "c.toml"]) == 0
    text = (folder / "c.toml").read_text()
    for line in ('preset = "A16W8"', 'nodes_to_exclude = ["op:Gemm"]', "CLESteps = 2", 'data = "samples.npz"'):
        assert line in text
    assert run("quantize digits.onnx -o b.onnx -q --config c.toml") == 0
    assert (folder / "a.onnx").read_bytes() == (folder / "b.onnx").read_bytes()
    assert run("quantize digits.onnx -o b.onnx -q --config c.toml --preset A16W16") == 0
    assert (folder / "a.onnx").read_bytes() != (folder / "b.onnx").read_bytes()


WRONG_FILES = {
    "\nper_chanel = true": "c.toml, line 2: per_chanel is unknown; expected one of activation_type, calibrate_method, ",
    'per_channel = "yes"': "c.toml, line 1: per_channel takes true or false, not 'yes'",
    "[extra_options]\nCLEStep = 1": "c.toml, line 2: [extra_options] CLEStep is unknown; ",
    "[samples]\ndate = 'x'": "c.toml, line 2: [samples] date is unknown; expected one of broken, color, ",
    "preset = ": "c.toml, line 1: Invalid value (at end of document)",
}


@pytest.mark.parametrize("text", WRONG_FILES)
def test_a_configuration_is_spoken_of_by_its_own_keys(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "c.toml").write_text(text)
    before = sorted(folder.rglob("*"))
    assert run("quantize digits.onnx -o n.onnx --config c.toml --data samples.npz") == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert WRONG_FILES[text] in shown.err
    assert "--" not in shown.err
    assert sorted(folder.rglob("*")) == before


def test_completion_scripts_load(tmp_path: Path) -> None:
    found = process("-m", "ort_vitis_plugin", "completion", "bash", folder=tmp_path)
    assert found.returncode == 0
    (tmp_path / "completion").write_text(found.stdout)
    loaded = subprocess.run(
        ["bash", "-c", "source completion && complete -p ort-vitis"], capture_output=True, text=True, cwd=tmp_path
    )
    assert (loaded.returncode, loaded.stderr) == (0, "")
    assert "ort-vitis" in loaded.stdout
    for shell in ("zsh", "fish"):
        assert "ort-vitis" in process("-m", "ort_vitis_plugin", "completion", shell, folder=tmp_path).stdout


def test_completion_knows_verbs(tmp_path: Path) -> None:
    words = {"COMP_WORDS": "ort-vitis qu", "COMP_CWORD": "1", "_ORT_VITIS_COMPLETE": "bash_complete"}
    assert "quantize" in process("-m", "ort_vitis_plugin", folder=tmp_path, **words).stdout


OLD = """
import subprocess, sys
import vai_q_onnx
from vai_q_onnx import PowerOfTwoMethod
from ort_vitis_plugin.demo import data
assert sys.argv[1:] == ["--flag", "value"]
reader, method = data.calibration_reader(4), PowerOfTwoMethod.MinMSE
vai_q_onnx.quantize_static("digits.onnx", "old.onnx", reader, calibrate_method=method)
child = "import vai_q_onnx; print(vai_q_onnx.QuantType.QInt8)"
print(subprocess.run([sys.executable, "-c", child], check=True, capture_output=True, text=True).stdout)
sys.exit(5)
"""


def test_an_old_script_runs_and_so_do_its_children(folder: Path) -> None:
    (folder / "old.py").write_text(OLD)
    found = process("-m", "ort_vitis_plugin", "run", "old.py", "--flag", "value", folder=folder)
    assert (found.returncode, found.stderr) == (5, "")
    assert "QInt8" in found.stdout
    assert onnx.load("old.onnx").graph.node
    alone = process("-c", "import vai_q_onnx", folder=folder)
    assert "ModuleNotFoundError" in alone.stderr


def test_an_old_script_leaves_nothing_here(folder: Path) -> None:
    before = sys.argv, list(sys.path), dict(os.environ), list(sys.meta_path)
    (folder / "old.py").write_text("import vai_q_onnx\nraise SystemExit('no')\n")
    assert run("run old.py") == 1
    assert (sys.argv, list(sys.path), dict(os.environ), list(sys.meta_path)) == before
    assert run("run none.py") == 2


def test_info_tells_an_open_size_from_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.load("digits.onnx")
    first, *_ = model.graph.input[0].type.tensor_type.shape.dim
    first.Clear()
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, "open.onnx")
    assert run("info open.onnx") == 0
    shown = capsys.readouterr().out
    assert "float[?, 1, 8, 8]" in shown
    assert "float, rank unknown" in shown


def test_a_configuration_that_names_its_models_serves_every_verb(folder: Path) -> None:
    Path("c.toml").write_text('model_input = "none.onnx"\nmodel_output = "none.onnx"\n', encoding="utf-8")
    assert run("quantize digits.onnx -o q.onnx --data samples.npz --samples 2 -q --config c.toml") == 0
    assert run("calibrate digits.onnx -o c.npz --data samples.npz --samples 2 --config c.toml") == 0
    assert run("errors digits.onnx q.onnx --data samples.npz --samples 2 -q --config c.toml") == 0
    assert run("explain-tensor digits.onnx logits --data samples.npz --samples 2 -q --config c.toml") == 0
    assert not Path("none.onnx").exists()


def test_info_says_how_a_file_was_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize digits.onnx -o q.onnx --data samples.npz --samples 4 --preset A16W8 --exclude op:Gemm -q") == 0
    assert run("info q.onnx --json q.json") == 0
    shown = capsys.readouterr().out
    for part in ("VitisQuantizeLinear", "QInt16", "sha256:", "op:Gemm", "float[1, 10]"):
        assert part in shown
    made = json.loads((folder / "q.json").read_text())["made"]
    assert (made["samples"], made["target"], made["arguments"]) == (4, "cpu", {"nodes_to_exclude": ["op:Gemm"]})
    assert run("info digits.onnx") == 0
    assert "does not say how it was made" in capsys.readouterr().out


def test_import_of_the_command_line_is_light() -> None:
    """Help needs onnxruntime's package and click, but no plugin, no session, no table."""
    code = "import sys, ort_vitis_plugin.cli.main; print(' '.join(sys.modules))"
    loaded = set(process("-c", code, folder=ROOT).stdout.split())
    heavy = {"pluggy", "onnxruntime_extensions", "ort_vitis_upstream", "ort_vitis_plugin.pipeline.pipeline", "tomllib"}
    assert loaded & heavy == set()
