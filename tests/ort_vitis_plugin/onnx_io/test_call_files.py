"""No call writes over a file that it reads, by whatever name, at whatever door."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime.quantization as upstream
import pytest

import ort_vitis_plugin
from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.errors import OutputError
from ort_vitis_plugin.testing import graph

TEXT = "t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }"
ROW = np.ones((1, 64), np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """m.onnx with its weights in m.data, samples in x.npz and in the folder s, links of both kinds to the model."""
    model = graph(TEXT, constants={"w": np.ones((64, 64), np.float32)})
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    np.savez(tmp_path / "x.npz", x=np.concatenate([ROW, ROW]))
    (tmp_path / "s").mkdir()
    np.save(tmp_path / "s" / "0.npy", ROW)
    (tmp_path / "soft.onnx").symlink_to("m.onnx")
    os.link(tmp_path / "m.onnx", tmp_path / "hard.onnx")
    (tmp_path / "p.py").write_text("def f(x): return x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


COMMANDS = (
    "quantize m.onnx -o m.onnx",
    "quantize m.onnx -o soft.onnx",
    "quantize m.onnx -o hard.onnx",
    "quantize soft.onnx -o s/../m.onnx",
    "quantize m.onnx -o m.data",
    "quantize m.onnx -o q.onnx --json m.onnx",
    "quantize m.onnx -o q.onnx --json ./q.onnx",
    "quantize m.onnx -o q.onnx --json m.data",
    "quantize m.onnx -o x.npz --data x.npz",
    "quantize m.onnx -o s/0.npy --data s",
    "quantize m.onnx -o q.onnx --option CalibrationCache=m.onnx",
    "quantize m.onnx -o q.onnx --option CalibrationCache=q.onnx",
    "quantize m.onnx -o p.py --data x.npz --preprocess p.py:f",
    "calibrate m.onnx -o m.onnx --data x.npz",
    "calibrate m.onnx -o x.npz --data x.npz",
    "calibrate m.onnx -o c --data x.npz --checkpoint m.onnx",
    "calibrate m.onnx -o c --data x.npz --checkpoint c",
    "calibrate m.onnx -o m.data --data x.npz",
    "convert-domain m.onnx -o m.onnx",
    "preprocess m.onnx -o hard.onnx",
    "fix-shape m.onnx -o m.data --fix-shape x=1,64",
    "quantize m.onnx -o - --json -",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_verb_refuses(folder: Path, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = contents(folder)
    assert main(command.split()) == 2
    assert "which is never overwritten" in capfd.readouterr().err
    assert contents(folder) == before


def ours(**arguments: Any) -> object:
    return ort_vitis_plugin.quantize_static(**arguments)


def upstreams(**arguments: Any) -> object:
    options = {"Target": "cpu", **arguments.pop("extra_options", {})}
    return upstream.quantize_static(**arguments, extra_options=options)


CALLS: dict[str, dict[str, Any]] = {
    "the input": {"model_output": "m.onnx"},
    "a link to it": {"model_output": "soft.onnx"},
    "its data": {"model_output": "m.data"},
    "the cache": {"model_output": "q.onnx", "extra_options": {"CalibrationCache": "q.onnx"}},
    "a cache that is the input": {"model_output": "q.onnx", "extra_options": {"CalibrationCache": "m.onnx"}},
    "the report": {"model_output": "q.onnx", "extra_options": {"Report": "m.onnx"}},
    "a result file": {"model_output": "q.onnx", "extra_options": {"FastFinetune": {"ResultFile": "q.onnx"}}},
    "a library": {"model_output": "x.npz", "extra_options": {"CustomOpLibraries": ["x.npz"]}},
}


@pytest.mark.parametrize("door", [ours, upstreams])
@pytest.mark.parametrize("call", CALLS)
def test_both_doors_refuse(folder: Path, door: Callable[..., object], call: str) -> None:
    class NeverRead:
        def get_next(self) -> Any:
            raise AssertionError("work began")

    before = contents(folder)
    with pytest.raises(OutputError, match="which is never overwritten"):
        door(model_input="m.onnx", calibration_data_reader=NeverRead(), **CALLS[call])
    assert contents(folder) == before


def test_calibrate_refuses_too(folder: Path) -> None:
    with pytest.raises(OutputError, match=r"the checkpoint 'm\.onnx' is the input itself"):
        ort_vitis_plugin.calibrate("m.onnx", [{"x": ROW}], checkpoint="m.onnx")


def test_a_folder_that_is_a_file(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = contents(folder)
    assert main(["dump", "m.onnx", "-o", "x.npz"]) == 2
    assert "'x.npz' is a file; give a folder" in capfd.readouterr().err
    assert contents(folder) == before


def test_what_is_read_is_protected_where_only_the_name_comes_late(folder: Path) -> None:
    """A dump names its files after tensors."""
    (folder / "dump").mkdir()
    quantized = ort_vitis_plugin.quantize_static("m.onnx", None, [{"x": ROW}]).model
    onnx.save(quantized, folder / "dump" / "index.json", format="protobuf")
    before = contents(folder)
    assert main(["dump", "dump/index.json", "-o", "dump"]) == 2
    assert {name: data for name, data in contents(folder).items() if name in before} == before


def test_caches_and_checkpoints_are_read_and_written(folder: Path) -> None:
    for _ in range(2):
        assert (
            main(["quantize", "m.onnx", "-o", "q.onnx", "-q", "--data", "x.npz", "--option", "CalibrationCache=c"]) == 0
        )
    assert main(["calibrate", "m.onnx", "-o", "d", "--data", "x.npz", "--checkpoint", "e"]) == 0


def test_a_new_file_among_the_samples_is_no_sample(folder: Path) -> None:
    for _ in range(2):
        assert main(["quantize", "m.onnx", "-o", "s/q.onnx", "-q", "--data", "s"]) == 0
