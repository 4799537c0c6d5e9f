"""Files are there whole or not at all, and nothing but regular files is replaced."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin import errors
from ort_vitis_plugin.onnx_io import whole_file as whole

Build = Callable[..., onnx.ModelProto]
ROOT = Path(ort_vitis_plugin.__file__).parents[1]


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_what_raises_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(TypeError, match="bytes-like"), whole.whole_file(path) as file:
        file.writelines([b"new", "no bytes"])  # type: ignore[list-item]
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["a"])
    with whole.whole_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert (path.read_bytes(), names(tmp_path)) == (b"new", ["a"])


def test_leftovers_of_killed_writers_go_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for name in (".a.0123abcd.part", ".b.0123abcd.part", ".a.user.part"):
        (tmp_path / name).write_bytes(b"")
    living = whole.Scratch(path)
    whole.write_text(path, "new")
    assert names(tmp_path) == sorted([".a.user.part", ".b.0123abcd.part", "a", living.path.name])
    living.discard()


def test_without_locks_nothing_of_others_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "_locked", lambda descriptor, patience: False)
    (tmp_path / ".a.0123abcd.part").touch()
    whole.write_text(tmp_path / "a", "new")
    assert names(tmp_path) == [".a.0123abcd.part", "a"]
    with whole.folder_lock(tmp_path / "nowhere") as alone:
        assert not alone


def test_who_waits_for_a_lock_gets_it_or_goes_on_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with whole.folder_lock(tmp_path) as alone:
        assert alone
        descriptor = os.open(tmp_path, os.O_RDONLY)
        assert not whole._locked(descriptor, 0.02)
    assert whole._locked(descriptor, 0)
    other = os.open(tmp_path, os.O_RDONLY)
    monkeypatch.setattr(time, "sleep", lambda seconds: os.close(descriptor))
    assert whole._locked(other, 10)
    os.close(other)


def test_standard_output_takes_bytes_and_may_not_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "__stdout__", stream)
    whole.write_text("-", "ü")
    assert stream.buffer.getvalue() == "ü".encode()  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "__stdout__", None)
    with pytest.raises(errors.OutputError, match="no standard output"):
        whole.write_text("-", "")


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_mode_bits_are_those_of_any_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        whole.write_text(tmp_path / "ours", "")
        (tmp_path / "any").touch()
    finally:
        os.umask(before)
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    whole.write_text(tmp_path / "link", "new")
    assert (tmp_path / "target").read_text() == "new"
    assert os.readlink(tmp_path / "link") == "target"


def test_long_names_have_scratch_files_too(tmp_path: Path) -> None:
    whole.write_text(tmp_path / ("a" * 255), "new")
    assert names(tmp_path) == ["a" * 255]


def special(folder: Path, kind: str) -> Any:
    """A path that no file can take."""
    path = folder / "out"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    elif kind == "which does not exist":
        path.symlink_to(folder / "nothing")
    elif kind == "a link to itself":
        path.symlink_to("out")
    else:
        return {
            "a device": "/dev/null",
            "NUL": "a\0b",
            "a surrogate": "a\ud800",
            "too long": str(folder / ("a" * 300)),
            "empty": "",
            "a file as a folder": str(Path(__file__) / "x"),
        }[kind]
    return path


SPECIAL = {
    "a folder": "is a folder; give a file name",
    "a named pipe": "is a named pipe; only regular files",
    "a socket": "is a socket",
    "a device": "is a device",
    "which does not exist": "is a link to .* does not exist",
    "a link to itself": "is a link to",
    "NUL": "is no path",
    "a surrogate": "is no path",
    "too long": "is no path",
    "empty": "is an empty path",
    "a file as a folder": "is not a folder",
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_regular_file_is_refused_before_work(tmp_path: Path, graph: Build, kind: str) -> None:
    path = special(tmp_path, kind)
    before = names(tmp_path)

    class NeverRead:
        def get_next(self) -> Any:
            raise AssertionError("work began")

    with pytest.raises((errors.OutputError, errors.ModelNotFoundError), match=SPECIAL[kind]):
        ort_vitis_plugin.quantize_static(
            graph("t (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }"), path, NeverRead()
        )
    assert names(tmp_path) == before


@pytest.mark.parametrize("value", [b"q.onnx", 3, 2.5, ["q.onnx"], object()])
def test_what_is_no_text_is_refused(graph: Build, value: Any) -> None:
    with pytest.raises(errors.OptionTypeError, match="an output takes a path"):
        ort_vitis_plugin.quantize_static(graph("t (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }"), value, [])


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_standard_output_takes_the_model_and_stderr_the_rest(tmp_path: Path, graph: Build, output: str) -> None:
    model = graph("t (float16[1, 3] x) => (float16[1, 3] y) { y = Relu(x) }")
    onnx.save(model, tmp_path / "m.onnx")
    answer = subprocess.run(
        [sys.executable, "-m", "ort_vitis_plugin", "convert-fp16-to-fp32", str(tmp_path / "m.onnx"), "-o", output],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])},
    )
    assert onnx.load_model_from_string(answer.stdout).graph.node
    assert f"written: {output}".encode() in answer.stderr
    assert names(tmp_path) == ["m.onnx"]


def test_a_full_folder_is_told_before_calibration(
    tmp_path: Path, graph: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NeverRead:
        def get_next(self) -> Any:
            raise AssertionError("work began")

    def full(self: whole.Scratch, place: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole.Scratch, "__init__", full)
    with pytest.raises(errors.OutputError, match="No space left on device"):
        ort_vitis_plugin.quantize_static(
            graph("t (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }"), tmp_path / "q.onnx", NeverRead()
        )


def test_no_temporary_folder_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(whole, "TemporaryDirectory", none)
    with pytest.raises(errors.OutputError, match="set TMPDIR"), whole.scratch_folder():
        pass
