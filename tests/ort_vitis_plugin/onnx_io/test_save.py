"""The output appears whole or not at all, beside nothing else, and never over the input."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import ort_vitis_plugin
from ort_vitis_plugin import errors
from ort_vitis_plugin.onnx_io import save, whole_file

Build = Callable[..., onnx.ModelProto]


@pytest.fixture
def model(graph: Build) -> onnx.ModelProto:
    weights = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
    text = "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { y = Conv(x, w) }"
    return graph(text, constants={"w": weights})


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def quantize(model: Any, output: Any, reader: Any, **arguments: Any) -> ort_vitis_plugin.Result:
    return ort_vitis_plugin.quantize_static(model, output, reader, **arguments)


@pytest.mark.option("model_input", "model_output")
def test_paths_with_spaces_and_other_letters(tmp_path: Path, model: onnx.ModelProto, reader: Any) -> None:
    source, target = tmp_path / "ein gang ü", tmp_path / "aus gang 出"
    for folder in (source, target):
        folder.mkdir()
    onnx.save(model, source / "net ü.onnx")
    before = (source / "net ü.onnx").read_bytes()
    result = quantize(str(source / "net ü.onnx"), target / "q 出.onnx", reader(model))
    assert result.path == target / "q 出.onnx"
    assert (names(source), names(target)) == (["net ü.onnx"], ["q 出.onnx"])
    assert (source / "net ü.onnx").read_bytes() == before
    assert onnx.load(target / "q 出.onnx") == result.model


def test_without_output_no_file_is_written(
    tmp_path: Path, model: onnx.ModelProto, reader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = quantize(model, None, reader(model))
    assert result.path is None
    assert names(tmp_path) == []


def test_old_output_is_replaced_and_kept_when_the_call_fails(
    tmp_path: Path, model: onnx.ModelProto, reader: Any
) -> None:
    output = tmp_path / "q.onnx"
    output.write_bytes(b"what was there")
    with pytest.raises(errors.CalibrationError):
        quantize(model, output, [])
    assert output.read_bytes() == b"what was there"
    quantize(model, output, reader(model))
    assert onnx.load(output).graph.node
    assert names(tmp_path) == ["q.onnx"]


@pytest.mark.parametrize("when", ["calibration", "saving"])
def test_interrupt_leaves_no_file(
    tmp_path: Path, model: onnx.ModelProto, reader: Any, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    feeds: Any = reader(model)
    if when == "calibration":

        class Interrupted:
            def get_next(self) -> Any:
                raise KeyboardInterrupt

        feeds = Interrupted()
    else:

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(whole_file.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quantize(model, tmp_path / "q.onnx", feeds, use_external_data_format=when == "saving")
    assert names(tmp_path) == []


class NeverRead:
    def get_next(self) -> Any:
        raise AssertionError("work began before the output was checked")


def test_output_that_cannot_be(tmp_path: Path, model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(model, tmp_path / "m.onnx")
    for output, error, message in (
        (tmp_path / "no" / "q.onnx", FileNotFoundError, "does not exist; create it first"),
        (tmp_path, OSError, "is a folder; give a file name"),
        (tmp_path / "m.onnx", OSError, "is the input itself"),
    ):
        with pytest.raises(error, match=message) as caught:
            quantize(tmp_path / "m.onnx", output, NeverRead())
        assert isinstance(caught.value, errors.QuantizationError)
    # Root may write everywhere, so a read-only folder is played.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(errors.OutputError, match="is read-only"):
        quantize(tmp_path / "m.onnx", tmp_path / "q.onnx", NeverRead())


def test_a_link_to_the_input_is_the_input(tmp_path: Path, model: onnx.ModelProto) -> None:
    onnx.save(model, tmp_path / "m.onnx")
    (tmp_path / "link.onnx").symlink_to(tmp_path / "m.onnx")
    with pytest.raises(errors.OutputError, match="is the input itself"):
        quantize(tmp_path / "m.onnx", tmp_path / "link.onnx", NeverRead())


def test_full_disk_is_an_output_error(tmp_path: Path, model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_file.os, "replace", full)
    with pytest.raises(errors.OutputError, match="No space left on device"):
        save.save_model(model, tmp_path / "q.onnx", external_data=False)
    assert names(tmp_path) == []


@pytest.mark.option("use_external_data_format")
def test_external_data_lies_beside_and_loads(tmp_path: Path, graph: Build, reader: Any) -> None:
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    model = graph("t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }", constants={"w": weights})
    result = quantize(model, tmp_path / "q.onnx", reader(model), use_external_data_format=True)
    data = names(tmp_path)[1]
    assert names(tmp_path) == ["q.onnx", data]
    assert re.fullmatch(r"q\.onnx\.[0-9a-f]{16}\.data", data)
    bare = onnx.load(tmp_path / "q.onnx", load_external_data=False)
    assert any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in bare.graph.initializer)
    assert onnx.load(tmp_path / "q.onnx").graph.node == result.model.graph.node
    session = onnxruntime.InferenceSession(tmp_path / "q.onnx", providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.ones((1, 64), np.float32)})[0].shape == (1, 64)
    # The data can be read from another folder too, when both files move.
    other = tmp_path / "moved"
    other.mkdir()
    for name in ("q.onnx", data):
        (tmp_path / name).rename(other / name)
    onnxruntime.InferenceSession(other / "q.onnx", providers=["CPUExecutionProvider"])


def test_external_input_is_read_and_left_alone(tmp_path: Path, graph: Build, reader: Any) -> None:
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    model = graph("t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }", constants={"w": weights})
    source = tmp_path / "in"
    source.mkdir()
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    onnx.save(copy, source / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    before = {file.name: file.read_bytes() for file in source.iterdir()}
    result = quantize(source / "m.onnx", tmp_path / "q.onnx", reader(model))
    assert {file.name: file.read_bytes() for file in source.iterdir()} == before
    assert result.model == quantize(model, None, reader(model)).model


def test_a_read_only_input_folder_is_enough(tmp_path: Path, model: onnx.ModelProto, reader: Any) -> None:
    """Nothing is opened for writing but below the output's folder and the system's temporary one."""
    import sys
    import tempfile

    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    target.mkdir()
    onnx.save(model, source / "m.onnx")
    written: list[str] = []
    allowed = (str(target), tempfile.gettempdir() + "/tmp", "/dev/null")
    listening = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
            path, mode = os.fsdecode(arguments[0]), arguments[1] or ""
            if any(letter in mode for letter in "wax+") and not path.startswith(allowed):
                written.append(path)
        elif listening and event in ("os.mkdir", "os.rename", "tempfile.mkdtemp", "tempfile.mkstemp"):
            path = os.fsdecode(arguments[0])
            if str(source) in path:
                written.append(path)

    sys.addaudithook(hook)
    try:
        quantize(source / "m.onnx", target / "q.onnx", reader(model))
    finally:
        listening = False
    assert [path for path in written if "__pycache__" not in path] == []
    assert names(source) == ["m.onnx"]


def test_a_missing_model_beside_an_output_that_exists(tmp_path: Path, reader: Any, model: onnx.ModelProto) -> None:
    (tmp_path / "q.onnx").write_bytes(b"before")
    with pytest.raises(errors.ModelNotFoundError, match=r"missing\.onnx' does not exist"):
        quantize(str(tmp_path / "missing.onnx"), tmp_path / "q.onnx", reader(model))
    assert (tmp_path / "q.onnx").read_bytes() == b"before"
