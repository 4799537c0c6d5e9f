"""What a plot of a tensor says beside its lines."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import calibrate
from ort_vitis_plugin.analysis.plot import plot
from ort_vitis_plugin.plugin.catalog import shared_catalog
from ort_vitis_plugin.testing import graph


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
