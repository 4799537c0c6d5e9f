"""What a file says of its making stands where nothing else is given, and a stranger is noticed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.cli.provenance import as_recorded, warn_of_stranger
from ort_vitis_plugin.emission.provenance import record
from ort_vitis_plugin.onnx_io.model_hash import model_hash
from ort_vitis_plugin.testing import graph


def floats(value: float = 1.0) -> ModelProto:
    text = "t (float[2] x) => (float[2] y) { y = Add(x, w) }"
    return graph(text, constants={"w": np.full(2, value, np.float32)})


def test_what_is_given_wins_over_what_is_recorded() -> None:
    made = floats()
    assert as_recorded(made, {"per_channel": True}) == {"per_channel": True}
    record(made, {"target": "cpu", "arguments": {"per_channel": True}, "options": {"CLESteps": 2}})
    assert as_recorded(made, {})["per_channel"] is True
    found = as_recorded(made, {"per_channel": False, "extra_options": {"CLESteps": 5}})
    assert found["per_channel"] is False
    assert found["extra_options"]["CLESteps"] == 5


def test_a_stranger_is_told_by_its_content() -> None:
    made = floats()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_stranger(floats(), made, "m.onnx")  # it says nothing
        record(made, {"float_model": model_hash(floats())})
        warn_of_stranger(floats(), made, "m.onnx")
    with pytest.warns(UserWarning, match="another float model than 'n.onnx'"):
        warn_of_stranger(floats(2.0), made, "n.onnx")
