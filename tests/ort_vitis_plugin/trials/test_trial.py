"""Equal configurations have one key, whatever their spelling, and what another trial beats is off the front."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantType
from ort_vitis_plugin.trials.trial import Trial, key_of, pareto, plain


def test_what_is_beaten_is_not_on_the_front() -> None:
    rows = [Trial(name, {}, score, on_device=nodes) for name, score, nodes in (("a", 1, 9), ("b", 3, 8), ("c", 2, 7))]
    assert [row.what for row in pareto(rows)] == ["a", "b"]
    assert key_of({"a": 1, "b": {"y": 2, "x": 1}}) == key_of({"b": {"x": 1, "y": 2}, "a": 1})


def test_failed_trials_are_on_no_front() -> None:
    assert pareto([Trial("refused", {}, failure="why"), Trial("done", {}, 1.0)]) == [Trial("done", {}, 1.0)]


def test_a_configuration_is_written_as_json_and_toml_have_it() -> None:
    given = {
        "activation_type": QuantType.QUInt8,
        "weight_type": VitisQuantType.QInt16,
        "calibrate_method": PowerOfTwoMethod.MinMSE,
        "other": (CalibrationMethod.MinMax, np.float32(0.5), np.arange(2)),
        "not_given": None,
    }
    assert plain(given) == {
        "activation_type": "QUInt8",
        "weight_type": "QInt16",
        "calibrate_method": "PowerOfTwoMethod.MinMSE",
        "other": ["CalibrationMethod.MinMax", 0.5, [0, 1]],
    }
    assert key_of(given) == key_of(plain(given))
