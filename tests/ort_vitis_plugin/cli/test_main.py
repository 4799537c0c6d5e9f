"""The command line: what each verb does, what a wrong call prints, and that nothing is left behind by a failure."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ort_vitis_plugin.cli.commands import files, run

ONE_LINERS = {
    "no model": ("quantize missing.onnx -o q.onnx", "'missing.onnx' does not exist"),
    "not a model": ("quantize samples.npz -o q.onnx", "is not an ONNX model"),
    "no output folder": ("quantize model.onnx -o no/q.onnx", "'no' of the output does not exist"),
    "the input itself": ("quantize model.onnx -o model.onnx", "is the input itself"),
    "misspelt option": (
        "quantize model.onnx -o q.onnx --option AdjustShiftcut=1",
        "AdjustShiftcut is not an option; did you mean AdjustShiftCut",
    ),
    "unheard-of option": ("quantize model.onnx -o q.onnx --option Zzz=1", "Zzz is not an option; `ort-vitis options`"),
    "wrong type": ("quantize model.onnx -o q.onnx --option CLESteps=many", "option CLESteps takes int, not 'many'"),
    "no value": ("quantize model.onnx -o q.onnx --option CLESteps", "takes Key=Value, not 'CLESteps'"),
    "unknown target": ("quantize model.onnx -o q.onnx --preset ipu_cn", "did you mean ipu_cnn"),
    "unknown method": ("quantize model.onnx -o q.onnx --method MinMEE", "MinMSE"),
    "unknown type": ("quantize model.onnx -o q.onnx --activation-type QInt7", "'QInt7' is not a quantization type"),
    "unknown node": (
        "quantize model.onnx -o q.onnx --exclude /stem/stem.0/Con",
        "no node '/stem/stem.0/Con'; did you mean /stem/stem.0/Conv",
    ),
    "impossible": ("quantize model.onnx -o q.onnx --preset ipu_cnn --method MinMax", "PowerOfTwoMethod.MinMSE"),
    "two targets": ("quantize model.onnx -o q.onnx --preset cpu --option EnableDPU=1", "give one of them"),
    "no data": ("quantize model.onnx -o q.onnx --data nowhere.npz", "'nowhere.npz' does not exist"),
    "unknown name": ("explain MinMes", "no plugin declares MinMes; did you mean MinMSE"),
    "forecast without one": ("forecast model.onnx --preset cpu", "has no forecast"),
    "errors of strangers": ("errors model.onnx model.onnx", "no quantized tensor in common"),
    "evaluate without model": ("evaluate model.onnx none.onnx", "'none.onnx' does not exist"),
}


@pytest.mark.parametrize(("arguments", "message"), ONE_LINERS.values(), ids=ONE_LINERS.keys())
def test_errors_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str) -> None:
    before = files(folder)
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert message in shown.err
    assert files(folder) == before


def test_option_without_effect_is_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize model.onnx -o q.onnx --option CLESteps=3 -q") == 0
    assert "warning: CLESteps has no effect because IncludeCLE is not set" in capsys.readouterr().err


def test_interrupt_is_130_and_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ort_vitis_plugin.data_readers import CalibrationData

    def interrupted(self: CalibrationData, number: int, item: Any) -> Any:
        if number == 3:
            raise KeyboardInterrupt
        return original(self, number, item)

    original = CalibrationData._sample
    monkeypatch.setattr(CalibrationData, "_sample", interrupted)
    before = files(folder)
    assert run("quantize model.onnx -o q.onnx --data samples.npz --preset ipu_cnn") == 130
    assert files(folder) == before
