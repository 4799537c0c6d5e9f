"""A second pass settles exactly what a sketch cannot tell apart."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort

from ort_vitis_plugin.calibration.observe import Candidates, direct_errors, observe
from ort_vitis_plugin.sketch import squared_error_direct

if TYPE_CHECKING:
    pass
from tests.ort_vitis_plugin.calibration.observe.networks import FLOATS, TWO_INPUTS, feeds, parsed


def test_16_bit_positions_are_settled_exactly_in_a_second_pass() -> None:
    model, samples = parsed(TWO_INPUTS), feeds(300, 200)
    positions, low, high = range(4, 20), -32768, 32767
    seen = observe(model, FLOATS, samples)
    candidates = {name: Candidates(sketch.contenders(positions, low, high), low, high) for name, sketch in seen.items()}
    errors = direct_errors(model, candidates, samples)
    everything = {name: Candidates(positions, low, high) for name in seen}
    truth = direct_errors(model, everything, samples)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    out = np.concatenate([session.run(["out"], feed)[0] for feed in samples])
    np.testing.assert_allclose(truth["out"], squared_error_direct(out, positions, low, high), rtol=1e-12)
    for name, each in candidates.items():
        assert 1 <= len(each.positions) < 5
        assert errors[name].min() == truth[name].min()
