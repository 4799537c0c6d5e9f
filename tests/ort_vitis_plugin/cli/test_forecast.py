"""``ort-vitis forecast`` lists the nodes that the device will not take, and why."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from tests.ort_vitis_plugin.cli.commands import run


def test_forecast_lists_what_stays_away(
    folder: Path, graph: Callable[..., onnx.ModelProto], capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(graph("t (float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) { z = Relu(x) y = Sin(z) }"), "small.onnx")
    assert run("forecast small.onnx") == 0
    shown = capsys.readouterr().out
    assert "Sin" in shown
    assert "takes 1 of 2 nodes" in shown
