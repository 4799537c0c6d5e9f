"""``ort-vitis errors`` lists quantized tensors, the worst first."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ort_vitis_plugin.cli.commands import run


def test_errors_lists_tensors_worst_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Equalization changes what tensors hold: against the float model equalized likewise they do not seem to err."""
    configured = "--data samples.npz --preset ipu_cnn --cle"
    assert run(f"quantize model.onnx -o q.onnx {configured} -q") == 0
    assert run(f"errors model.onnx q.onnx {configured} --all") == 0
    shown = capsys.readouterr().out.splitlines()
    through = [float(line.split(" dB")[0].split()[-1]) for line in shown if line.rstrip().endswith("dB")]
    assert len(through) > 20
    assert through == sorted(through)
    assert through[0] > 10
    assert run("errors model.onnx q.onnx --data samples.npz --preset ipu_cnn") == 0
    assert f"... {len(through) - 20} more" in capsys.readouterr().out
