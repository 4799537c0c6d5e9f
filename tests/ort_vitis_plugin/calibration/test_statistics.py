"""Statistics are the sketches by name, and know no other tensor."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.calibration.statistics import Statistics
from ort_vitis_plugin.sketch import Sketch


def test_they_are_a_mapping_of_sketches() -> None:
    sketch = Sketch()
    sketch.add(np.ones(3, np.float32))
    statistics = Statistics({"x": sketch}, samples=1)
    assert statistics["x"] is sketch
    assert (list(statistics), len(statistics), "y" in statistics) == (["x"], 1, False)
    with pytest.raises(KeyError):
        statistics["y"]
