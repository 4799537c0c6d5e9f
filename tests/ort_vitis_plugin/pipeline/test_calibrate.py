"""Which tensors are counted follows from what is selected; a calibration that does not fit is refused."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.calibration import Calibration
from ort_vitis_plugin.calibration.channel_squares import Channels
from ort_vitis_plugin.calibration.observe import observer
from ort_vitis_plugin.entry.quantize_static import calibrate
from ort_vitis_plugin.errors import CalibrationError, OptionTypeError
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.pipeline.calibrate import float_tensors, tensors_of_interest, weight_channels
from ort_vitis_plugin.testing import graph, plain_context, random_feeds


def model() -> ModelProto:
    text = """t (float[1, 4] x, int64[1] n) => (float[1, 3] y, int64[1] m) {
        h = Gemm(x, w)  i = Relu(h)  y = Exp(i)  m = Add(n, n) }"""
    return graph(text, constants={"w": np.eye(4, 3, dtype=np.float32)})


def test_floats_that_are_not_constant() -> None:
    assert float_tensors(Graph(model())) == ["x", "h", "i", "y"]
    assert weight_channels(Graph(model())) == [Channels("x", 1, 4, 2)]


def test_the_input_of_a_selected_relu_needs_no_range() -> None:
    edited = Graph(model())
    assert tensors_of_interest(plain_context(), edited) == ["x", "i", "y"]
    assert tensors_of_interest(plain_context(op_types=("Gemm",)), edited) == ["x", "h"]
    assert tensors_of_interest(plain_context(op_types=("Exp",)), edited) == ["i", "y"]


def test_an_angle_is_seen_though_no_quantized_node_touches_it() -> None:
    text = 't (float[2, 4] x) => (float[2, 4] y) { h = Mul(x, x)  a = Einsum<equation = "ij->ij">(h)  y = Sin(a) }'
    assert tensors_of_interest(plain_context(op_types=("Mul",)), Graph(graph(text))) == ["x", "h", "a"]


def test_a_calibration_of_something_else_is_refused() -> None:
    feeds = [random_feeds(model())]
    arguments: dict[str, Any] = {"calibration": 5}
    with pytest.raises(OptionTypeError, match="calibration takes what calibrate"):
        quantize_static(model(), None, None, **arguments)
    other = graph("t (float[1, 4] x) => (float[1, 4] y) { y = Exp(x) }")
    found = calibrate(other, [random_feeds(other)])
    assert isinstance(found, Calibration)
    with pytest.raises(CalibrationError, match="must be the same as when it was made"):
        quantize_static(model(), None, feeds, calibration=found)


@pytest.mark.parametrize(
    ("options", "reads"),
    [
        ({}, True),
        ({"Recipe": "plain"}, False),
        ({"WeightRange": "method"}, False),
        ({"Recipe": "plain", "WeightRange": "energy"}, True),
    ],
    ids=str,
)
def test_energies_are_measured_where_something_may_read_them(
    options: dict[str, Any], reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    probe = observer.Probe

    def counting(model: Any, tensors: Any, channels: Any = ()) -> Any:
        asked.append(len(channels))
        return probe(model, tensors, channels)

    monkeypatch.setattr(observer, "Probe", counting)
    quantize_static(model(), None, [random_feeds(model(), seed) for seed in range(8)], extra_options=options)
    assert asked[0] == reads
