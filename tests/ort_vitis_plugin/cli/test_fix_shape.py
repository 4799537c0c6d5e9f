"""``ort-vitis fix-shape`` says which sizes are open, and writes a model in which they are not."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ort_vitis_plugin.cli.commands import run


def test_fix_shape_alone_says_what_is_open(dynamic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fix-shape dynamic.onnx") == 0
    assert capsys.readouterr().out == "x: [N, 3, 8, 8]\nto fix them, add --fix-dim N=1\n"
    assert run("fix-shape dynamic.onnx -o fixed.onnx --fix-dim N=1") == 0
    assert run("fix-shape fixed.onnx") == 0
    assert capsys.readouterr().out.endswith("every size of the model's inputs is fixed\n")
