"""A probe knows which tensors are fed, which are fetched, which are constants, and which are not there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.calibration.channel_squares import Channels
from ort_vitis_plugin.calibration.observe.observed_model import Probe
from ort_vitis_plugin.errors import CalibrationError, UnknownNameError
from ort_vitis_plugin.onnx_io import external_weights
from ort_vitis_plugin.sketch import Sketch, engine
from ort_vitis_plugin.testing import graph

MODEL = graph(
    "t (float[2] x) => (float[2] y, int64[1] n) { h = Add(x, w) y = Relu(h) n = Shape(y) }",
    17,
    {"w": np.array([1, 2], np.float32)},
)


def test_tensors_are_told_apart() -> None:
    probe = Probe(MODEL, ["x", "w", "h", "y"])
    assert (probe.fed, probe.fetched, probe.observed) == (["x"], ["h", "y"], ["x", "h", "y"])
    np.testing.assert_array_equal(probe.constants["w"], [1, 2])


def test_an_unknown_tensor_is_named_with_those_like_it() -> None:
    with pytest.raises(UnknownNameError, match="no tensor xx"):
        Probe(MODEL, ["xx"])


def test_only_the_asked_tensors_are_outputs() -> None:
    session = Probe(MODEL, ["h"]).fetching_session(["CPUExecutionProvider"], None)
    assert [value.name for value in session.get_outputs()] == ["h"]


def test_integers_cannot_be_observed() -> None:
    probe = Probe(MODEL, ["n"])
    with pytest.raises(CalibrationError, match=r"n is tensor\(int64\)"):
        probe.check_types(probe.fetching_session(["CPUExecutionProvider"], None))


@pytest.mark.skipif(engine.library() is None, reason="there are no observers")
def test_a_tensor_is_counted_and_squared_as_soon_as_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else tensors live on until the last one is there: leaves run from the last one in the list on."""
    chain = graph("t (float[1, 2] x) => (float[1, 2] d) { a = Relu(x) b = Exp(a) c = Sin(b) d = Cos(c) }", 17)
    lent: list[ModelProto] = []
    monkeypatch.setattr(external_weights, "lend_to_session", lambda model, options: lent.append(model))
    probe = Probe(chain, ["x", "a", "b", "c", "d"], [Channels(name, 1, 2, 2) for name in "axcb"])
    probe.observing_session({name: Sketch() for name in "xabcd"}, None)
    leaves = [node.input[0] for node in lent[0].graph.node[4:]]
    assert leaves == ["d", "c", "c", "b", "b", "a", "a", "x"]
    assert [energy.channels.tensor for energy in probe.energies] == list("axcb")
