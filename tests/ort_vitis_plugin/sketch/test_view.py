"""The bins as floats keep the mean, and hold every value between low and high."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ort_vitis_plugin.sketch import Sketch


def test_means_and_ends() -> None:
    values = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    sketch = Sketch()
    sketch.add(values)
    view = sketch.view
    assert (view.low <= view.mean).all()
    assert (view.mean <= view.high).all()
    np.testing.assert_allclose((view.n * view.mean).sum(), values.astype(np.float64).sum(), rtol=1e-12)


def test_the_cumulative_line_ends_at_all_values() -> None:
    sketch = Sketch()
    sketch.add(np.array([1, 1, 2, -5], np.float32))
    x, y = sketch.view.cumulative
    assert (y[0], y[-1]) == (0, 4)
    assert (x.min(), x.max()) == (-5, 2)


def test_equal_values_are_points() -> None:
    sketch = Sketch()
    sketch.add(np.full(7, 0.3, np.float32))
    assert sketch.view.scatter == 0
    assert sketch.view.low == sketch.view.high == np.float32(0.3)
