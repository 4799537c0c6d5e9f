"""The files of a request, and what a call that ends early says."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import pytest

from ort_vitis_plugin.entry.whole_call import request_files, told, whole_call
from ort_vitis_plugin.errors import UnexpectedError
from ort_vitis_plugin.onnx_io.whole_file import write_text
from ort_vitis_plugin.options.request import Request


def test_every_file_of_a_request_is_listed() -> None:
    given = {
        "CustomOpLibraries": ["ops.so"],
        "CalibrationCache": "c",
        "Report": "r.json",
        "FastFinetune": {"ResultFile": "f"},
        "SelfCheck": True,
    }
    files = request_files(Request("m.onnx", "q.onnx", "x.npz", None, None, None, None, given=given), checkpoint="k")
    assert {str(path) for _, path in files.reads} == {"m.onnx", "ops.so", "x.npz"}
    assert {str(path) for _, path in files.both} == {"c", "f", "k"}
    assert {str(path) for _, path in files.writes} == {"q.onnx", "r.json"}


def test_what_was_written_is_told() -> None:
    assert told([]) == "nothing was written"
    assert told([Path("a"), Path("a")]) == "a is written"
    assert told([Path("a"), Path("b")]) == "a, b are written"


def ended(path: Path, error: BaseException) -> None:
    with whole_call("a call"):
        write_text(path, "")
        raise error


def test_an_interrupt_says_what_is_written(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        ended(tmp_path / "a", KeyboardInterrupt())
    assert caught.value.__notes__ == [f"{tmp_path / 'a'} is written"]
    with pytest.raises(UnexpectedError, match="a call failed in a way that it does not know"):
        ended(tmp_path / "a", KeyError("b"))
