"""Each tensor is drawn with its range and its errors; where nothing can draw, it is said before any work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import calibrate
from ort_vitis_plugin.analysis.plot import need_matplotlib, plot
from ort_vitis_plugin.calibration import Calibration
from ort_vitis_plugin.errors import OutputError, UnsupportedError
from ort_vitis_plugin.numerics.qtypes import INT8
from ort_vitis_plugin.plugin.catalog import shared_catalog
from ort_vitis_plugin.sketch import Sketch
from ort_vitis_plugin.testing import graph


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


@pytest.mark.slow
def test_no_two_entries_of_a_legend_are_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the position of least error is the one that never clips."""
    Figure = pytest.importorskip("matplotlib.figure").Figure
    legends: list[list[str]] = []

    def look(figure: Any, file: Any, **_: Any) -> None:
        drawn = [axes.get_legend() for axes in figure.axes]
        legends.append([text.get_text() for legend in drawn if legend is not None for text in legend.texts])
        file.write(b"drawn")

    monkeypatch.setattr(Figure, "savefig", look)
    model = graph("t (float[1, 4096] x, float[1, 4096] z) => (float[1, 4096] y) { y = Add(x, z) }")
    even = np.linspace(-1, 0.99, 4096, dtype=np.float32)[None]
    far = np.concatenate([even[:, 1:], np.full((1, 1), 1.05, np.float32)], axis=1)
    plot(calibrate(model, [{"x": even, "z": far}]), tmp_path, shared_catalog().qtype("QInt8"))
    assert ["least error, never clips"] in legends
    assert any(len(entries) == 2 for entries in legends)
    assert all(len(set(entries)) == len(entries) for entries in legends)
