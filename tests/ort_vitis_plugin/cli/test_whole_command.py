"""A command refuses its files before it works, keeps standard output clean, and says how it ended."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from ort_vitis_plugin.cli.whole_command import whole_command
from ort_vitis_plugin.errors import ModelNotFoundError, OutOfMemoryError, OutputError, UnexpectedError
from ort_vitis_plugin.onnx_io.whole_file import write_text
from tests.ort_vitis_plugin.cli.commands import run

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}


def never() -> int:
    raise AssertionError("work began")


@pytest.mark.parametrize(
    ("verb", "given", "error", "message"),
    [
        ("calibrate", {"model": "m", "output": "m"}, OutputError, "which is never overwritten"),
        ("evaluate", {"model": "m", "quantized": "q", "json": "q"}, OutputError, "which is never overwritten"),
        ("errors", {"model": "m", "save_config": "c", "config": "c"}, OutputError, "which is never overwritten"),
        ("report", {"trials": "t", "output": "t"}, OutputError, "which is never overwritten"),
        ("evaluate", {"metric": "f.py:g", "json": "f.py"}, OutputError, "which is never overwritten"),
        ("quantize", {"models": ("m", "n"), "output": "d", "json": "n"}, OutputError, "which is never overwritten"),
        ("quantize", {"models": ("m", "n"), "output": "q"}, OutputError, "is a file; give a folder"),
        ("quantize", {"models": ("m",), "output": "no/q"}, ModelNotFoundError, "does not exist; create it first"),
        ("info", {"models": ("m",), "json": "no/q"}, ModelNotFoundError, "does not exist; create it first"),
    ],
)
def test_files_are_refused_before_work(
    verb: str,
    given: dict[str, object],
    error: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("m", "n", "q", "c", "t", "f.py")
    for name in names:
        Path(name).write_text(name)
    with pytest.raises(error, match=message):
        whole_command(verb, given, never)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {name: name for name in names}


def interrupt() -> None:
    raise KeyboardInterrupt


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(("end", "word", "status"), [(interrupt, "interrupted", 130), (terminate, "terminated", 143)])
@pytest.mark.parametrize("is_late", [False, True])
def test_what_is_written_is_told(
    end: Callable[[], None], word: str, status: int, is_late: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> int:
        if is_late:
            write_text(tmp_path / "a", "text")
        end()
        return 0

    assert whole_command("demo", {}, work) == status
    told = f"{tmp_path / 'a'} is written" if is_late else "nothing was written"
    assert capsys.readouterr().err == f"{word}: {told}\n"


@pytest.mark.parametrize(("raised", "error"), [(KeyError("k"), UnexpectedError), (MemoryError(), OutOfMemoryError)])
def test_errors_are_ours(raised: Exception, error: type[Exception]) -> None:
    def work() -> int:
        raise raised

    with pytest.raises(error, match="ort-vitis demo") as caught:
        whole_command("demo", {}, work)
    assert caught.value.__cause__ is raised


def test_what_is_no_fault_of_the_call_is_status_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import ort_vitis_plugin.onnx_io.load as load

    def broken(*_: object, **__: object) -> None:
        raise KeyError("k")

    monkeypatch.setattr(load, "load_model", broken)
    assert run("info model.onnx") == 1
    assert "this is a defect of ort_vitis_plugin" in capsys.readouterr().err


def test_a_model_on_stdout_is_all_that_is_there(folder: Path) -> None:
    line = "quantize model.onnx -o - --data samples.npz --preset ipu_cnn --json r.json"
    answer = subprocess.run(
        [sys.executable, "-m", "ort_vitis_plugin", *line.split()], capture_output=True, check=True, env=ENVIRONMENT
    )
    assert onnx.load_model_from_string(answer.stdout).graph.node
    assert b"written: -" in answer.stderr
    assert json.loads((folder / "r.json").read_text())["sqnr"]
    assert not (folder / "-").exists()


def test_json_keeps_stdout_while_a_model_is_not_written_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize model.onnx -o - --data samples.npz --json -") == 2
    assert run("quantize model.onnx model.onnx -o - --data samples.npz") == 2
    assert run("tune model.onnx -o - --data samples.npz") == 2
    assert capsys.readouterr().out == ""
    assert sorted(file.name for file in folder.iterdir()) == ["model.onnx", "samples.npz"]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_a_reader_that_went_away_is_141(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    answer = subprocess.run(
        [sys.executable, "-m", "ort_vitis_plugin", "plugins"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        env=ENVIRONMENT,
    )
    os.close(writing)
    assert (answer.returncode, answer.stderr) == (141, b"")
