"""Flags that fix sizes, on each verb that knows them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.ort_vitis_plugin.cli.commands import run


def batch(path: str) -> list[int]:
    model = onnx.load(path)
    return [value.type.tensor_type.shape.dim[0].dim_value for value in (*model.graph.input, *model.graph.output)]


@pytest.mark.parametrize("flag", ["--fix-dim N=1", "--fix-shape x=1,3,8,8"])
def test_every_verb_fixes_sizes(flag: str, dynamic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"fix-shape dynamic.onnx -o fixed.onnx {flag}") == 0
    assert run(f"quantize dynamic.onnx -o q.onnx --data x.npy --preset ipu_cnn -q {flag}") == 0
    assert run(f"calibrate dynamic.onnx -o c.npz --data x.npy --preset ipu_cnn {flag}") == 0
    assert (batch("fixed.onnx"), batch("q.onnx"), batch("dynamic.onnx")) == ([1, 1], [1, 1], [0, 0])
    capsys.readouterr()
    assert run("forecast dynamic.onnx") == 0
    shown = capsys.readouterr().out
    assert "2 nodes: dynamic N; add --fix-dim N=1\n" in shown
    assert "takes 0 of 2 nodes" in shown
    assert run(f"forecast dynamic.onnx {flag}") == 0
    assert "takes 2 of 2 nodes" in capsys.readouterr().out


def test_the_report_groups_what_is_not_for_the_device(dynamic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize dynamic.onnx -o q.onnx --data x.npy --preset ipu_cnn") == 0
    assert "--fix-dim N=1" in capsys.readouterr().out


REFUSED = {
    "fix-shape dynamic.onnx -o q.onnx --fix-dim N": "--fix-dim takes NAME=1, not 'N'",
    "fix-shape dynamic.onnx -o q.onnx --fix-dim N=1,2": "--fix-dim takes NAME=1",
    "fix-shape dynamic.onnx -o q.onnx --fix-shape x=1,3,8,a": "--fix-shape takes INPUT=1,3,224,224",
    "fix-shape dynamic.onnx -o q.onnx --fix-dim N=1 N=2": "--fix-dim N=2 contradicts N=1",
    "fix-shape dynamic.onnx -o q.onnx --fix-dim M=1": "--fix-dim: the model's inputs have no open dimension 'M'",
    "forecast dynamic.onnx --fix-shape y=1,3,8,8": "no input 'y' (x)",
    "quantize dynamic.onnx -o q.onnx --fix-shape x=1,3,8": "has 3 sizes, but the input has 4",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refuses_in_one_line_and_writes_nothing(line: str, dynamic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(dynamic.iterdir())
    assert run(line) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert REFUSED[line] in told
    assert sorted(dynamic.iterdir()) == before
