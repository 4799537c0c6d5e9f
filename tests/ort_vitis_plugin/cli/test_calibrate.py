"""``ort-vitis calibrate`` runs the samples once, for many configurations."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.ort_vitis_plugin.cli.commands import run


def test_one_calibration_serves_many_configurations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("calibrate model.onnx -o c.npz --data samples.npz") == 0
    assert "8 samples" in capsys.readouterr().out
    for name, method in (("a", "MinMSE"), ("b", "MinMax")):
        how = f"--method {method} --option Recipe=plain -q"  # what the recipe tries needs samples
        assert run(f"quantize model.onnx -o {name}.onnx --calibration c.npz {how}") == 0
        assert run(f"quantize model.onnx -o {name}2.onnx --data samples.npz {how}") == 0
        assert (folder / f"{name}.onnx").read_bytes() == (folder / f"{name}2.onnx").read_bytes()
    assert run("quantize model.onnx -o q.onnx --calibration none.npz") == 2
    assert "none.npz" in capsys.readouterr().err


def test_workers_and_a_checkpoint_do_not_change_a_calibration(folder: Path) -> None:
    from ort_vitis_plugin.calibration import Calibration

    assert run("calibrate model.onnx -o one.npz --data samples.npz") == 0
    assert run("calibrate model.onnx -o two.npz --data samples.npz --workers 2 --checkpoint begun.npz") == 0
    one, two = Calibration.load("one.npz"), Calibration.load("two.npz")
    assert (one.samples, one.fingerprint, one.sketches) == (two.samples, two.fingerprint, two.sketches)
    assert not (folder / "begun.npz").exists()


@pytest.mark.slow
def test_calibrate_plots(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run("calibrate model.onnx -o c.npz --data samples.npz --plot plots --preset ipu_cnn") == 0
    drawn = list((folder / "plots").glob("*.png"))
    assert len(drawn) > 10
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in drawn)


def test_plots_without_matplotlib_say_what_to_install(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run("calibrate model.onnx -o c.npz --data samples.npz --plot plots") == 2
    assert "pip install 'ort-vitis-plugin[plot]'" in capsys.readouterr().err
