"""Every verb's files are found by the names of its arguments."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from ort_vitis_plugin.cli.main import ort_vitis
from ort_vitis_plugin.cli.verb_files import command_files
from ort_vitis_plugin.onnx_io.call_files import CallFiles


def files_of(line: str) -> CallFiles:
    verb, *words = line.split()
    given = ort_vitis.commands[verb].make_context(verb, words).params
    return command_files(verb, {**given, "json": given["json_file"]})


def test_files_of_commands() -> None:
    command = "quantize m.onnx -o q.onnx --data x.npz --preprocess p.py:f --calibration c --json r.json"
    files = files_of(command)
    assert {str(path) for _, path in files.reads} == {"m.onnx", "x.npz", "p.py", "c"}
    assert {str(path) for _, path in files.writes} == {"q.onnx", "r.json"}
    command = "calibrate m.onnx -o c --data x.npz --checkpoint k --plot p"
    files = files_of(command)
    assert [str(path) for _, path in files.both] == ["k"]
    assert [str(path) for _, path in files.folders] == ["p"]


def test_a_dump_is_a_folder() -> None:
    files = files_of("dump q.onnx -o d")
    assert [str(path) for _, path in files.folders] == ["d"]
    assert files.writes == []
    assert not files.streamed
    assert files_of("convert-domain m.onnx -o -").streamed
