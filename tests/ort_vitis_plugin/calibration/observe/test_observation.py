"""An observation has a sketch per name before the first sample."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.calibration.observe.observation import Observation


def test_every_name_has_a_sketch_of_its_own() -> None:
    observation = Observation(["a", "b"])
    assert [observation[name].count for name in ("a", "b")] == [0, 0]
    assert observation["a"] is not observation["b"]
    assert (observation.samples, observation.non_finite) == (0, [])
