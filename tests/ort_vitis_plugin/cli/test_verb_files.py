"""Every verb's files are found by the names of its arguments."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from ort_vitis_plugin.cli.main import parser
from ort_vitis_plugin.cli.verb_files import command_files


def test_files_of_commands() -> None:
    command = "quantize m.onnx -o q.onnx --data x.npz --preprocess p.py:f --calibration c --json r.json"
    files = command_files(parser().parse_args(command.split()))
    assert {str(path) for _, path in files.reads} == {"m.onnx", "x.npz", "p.py", "c"}
    assert {str(path) for _, path in files.writes} == {"q.onnx", "r.json"}
    command = "calibrate m.onnx -o c --data x.npz --checkpoint k --plot p"
    files = command_files(parser().parse_args(command.split()))
    assert [str(path) for _, path in files.both] == ["k"]
    assert [str(path) for _, path in files.folders] == ["p"]


def test_a_dump_is_a_folder() -> None:
    files = command_files(parser().parse_args(["dump", "q.onnx", "-o", "d"]))
    assert [str(path) for _, path in files.folders] == ["d"]
    assert files.writes == []
    assert not files.streamed
    assert command_files(parser().parse_args(["convert-domain", "m.onnx", "-o", "-"])).streamed
