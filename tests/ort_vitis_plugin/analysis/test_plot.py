"""Each tensor is drawn with its range and its errors; where nothing can draw, it is said before any work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ort_vitis_plugin.analysis.plot import need_matplotlib, plot
from ort_vitis_plugin.calibration import Calibration
from ort_vitis_plugin.errors import OutputError, UnsupportedError
from ort_vitis_plugin.numerics.qtypes import INT8
from ort_vitis_plugin.sketch import Sketch


def calibration() -> Calibration:
    wide, zero = Sketch(), Sketch()
    wide.add(np.random.default_rng(0).standard_normal(1000).astype(np.float32))
    zero.add(np.zeros(10, np.float32))
    return Calibration({"a/b:0": wide, "zero": zero, "empty": Sketch()}, 1, "")


def test_without_matplotlib_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnsupportedError, match="pip install"):
        need_matplotlib()
    with pytest.raises(UnsupportedError, match="pip install"):
        plot(calibration(), tmp_path / "plots", INT8)
    assert not (tmp_path / "plots").exists()


@pytest.mark.slow
def test_what_has_values_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (drawn,) = plot(calibration(), tmp_path / "plots", INT8)
    assert drawn == tmp_path / "plots" / "0000_a_b_0.png"
    assert drawn.read_bytes().startswith(b"\x89PNG")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be made"):
        plot(calibration(), tmp_path / "file", INT8)
