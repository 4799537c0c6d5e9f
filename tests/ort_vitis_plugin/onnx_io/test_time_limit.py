"""A Loop without end ends when the time of a sample is over."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import onnx
import pytest

from ort_vitis_plugin import calibrate, errors, quantize_static
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.onnx_io.time_limit import time_limit
from ort_vitis_plugin.testing import graph

TEXT = """t (float[1, 4] x, bool c) => (float[1, 4] y) {
    y = Loop (, c, x) <body = b (int64 i, bool before, float[1, 4] h) => (bool after, float[1, 4] g) {
        after = Identity(before)
        g = Relu(h)
    }>
}"""
ENDLESS = [{"x": np.ones((1, 4), np.float32), "c": np.array(True)}]


def network() -> onnx.ModelProto:
    return graph(TEXT)


def test_a_call_ends(capfd: pytest.CaptureFixture[str]) -> None:
    limit = {"TimeLimit": 0.5}
    with pytest.raises(errors.LimitError, match=r"within 0\.5 seconds; TimeLimit"):
        quantize_static(network(), None, ENDLESS, extra_options=limit)
    with pytest.raises(errors.LimitError, match=r"within 0\.5 seconds; TimeLimit"):
        calibrate(network(), ENDLESS, extra_options=limit)
    capfd.readouterr()  # what onnxruntime logs


def test_a_session_ends_by_the_environment(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    session = open_session(network())
    monkeypatch.setenv("ORT_VITIS_TIME_LIMIT", "0.3")
    with pytest.raises(errors.LimitError, match="ORT_VITIS_TIME_LIMIT"):
        session.run(None, ENDLESS[0])
    (found,) = session.run(None, {**ENDLESS[0], "c": np.array(False)})
    assert found.tolist() == [[1, 1, 1, 1]]
    for wrong in ("soon", "nan", "-1", "0"):
        monkeypatch.setenv("ORT_VITIS_TIME_LIMIT", wrong)
        with pytest.raises(errors.LimitError, match=f"={wrong!r} is no number of seconds"):
            session.run(None, ENDLESS[0])
    with time_limit(0.3), pytest.raises(errors.LimitError, match=r"within 0\.3 seconds"):
        session.run(None, ENDLESS[0])
    capfd.readouterr()
