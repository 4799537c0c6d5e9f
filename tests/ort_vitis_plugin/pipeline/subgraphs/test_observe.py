"""What runs inside bodies is counted, every turn of it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnxruntime.quantization import CalibrationMethod

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.testing import graph

if TYPE_CHECKING:
    from pathlib import Path
from tests.ort_vitis_plugin.pipeline.subgraphs.bodies import (
    BOTH,
    TURNS,
    Feeds,
    bodies,
    branches,
    quantized,
    samples,
    scale_inside,
    sqnr,
    weights,
)


def test_a_tensor_that_grows_with_every_turn() -> None:
    """Shapes that no scan output could collect."""
    text = """
    t (float[2,4] x, int64 turns) => (float[N,4] y) {
      on = Constant <value = bool {1}> ()
      y = Loop <body = turn (int64 i, bool go_on, float[M,4] s) => (bool goes_on, float[K,4] s_out) {
        goes_on = Identity(go_on)
        mm = MatMul(s, w)
        s_out = Concat <axis = 0> (mm, x)
      }> (turns, on, x)
    }
    """
    model, feeds = graph(text, 17, {"w": weights(3)}), samples(**TURNS)
    result = quantized(model, feeds).model
    assert "QuantizeLinear" in bodies(result)[0]
    assert sqnr(model, result, feeds) >= 25


def test_every_turn_counts() -> None:
    """The range of what a loop doubles is that of its last turn."""
    text = """
    t (float[2,4] x, int64 turns) => (float[2,4] y) {
      on = Constant <value = bool {1}> ()
      y = Loop <body = turn (int64 i, bool go_on, float[2,4] s) => (bool goes_on, float[2,4] s_out) {
        goes_on = Identity(go_on)
        s_out = Add(s, s)
      }> (turns, on, x)
    }
    """
    feeds: Feeds = [{"x": np.full((2, 4), 0.9, np.float32), "turns": np.asarray(5)}]
    result = quantized(graph(text), feeds, calibrate_method=CalibrationMethod.MinMax).model
    assert scale_inside(result, "s_out") == pytest.approx(0.9 * 2**5 / 255, rel=1e-5)


def test_infinite_values_inside_are_left_out_and_told() -> None:
    text = """
    t (float[2,4] x, bool which) => (float[2,4] y) {
      h = Relu(x)
      y = If (which) <
        then_branch = yes () => (float[2,4] t_out) {
          quotient = Div(one, h)
          t_out = Min(quotient, one)
        },
        else_branch = no () => (float[2,4] e_out) { e_out = Neg(h) }
      >
    }
    """
    model, feeds = graph(text, 17, {"one": np.ones((), np.float32)}), samples(**BOTH)
    ops = {"op_types_to_quantize": ["Div", "Min", "Relu"], "calibrate_method": CalibrationMethod.MinMax}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = quantized(model, feeds, extra_options={"SelfCheck": False}, **ops).report
    assert any(key.startswith("quotient in sample 0") for key in report.non_finite)
    with pytest.raises(CalibrationError, match=r"sample 0.*Inf.*quotient"):
        quantized(model, feeds, extra_options={"NonFiniteSamples": "error"}, **ops)


def test_a_cache_holds_what_bodies_computed(tmp_path: Path) -> None:
    model, feeds, cache = branches(), samples(**BOTH), str(tmp_path / "cache")
    first = quantized(model, feeds, extra_options={"CalibrationCache": cache}).model
    second = quantized(model, feeds[:1], extra_options={"CalibrationCache": cache}).model
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)


def test_a_cache_made_without_bodies_is_refused(tmp_path: Path) -> None:
    model, feeds, cache = branches(), samples(**BOTH), str(tmp_path / "cache")
    quantize_static(model, None, feeds, extra_options={"CalibrationCache": cache})
    with pytest.raises(CalibrationError, match="EnableSubgraph=default then and True now"):
        quantized(model, feeds, extra_options={"CalibrationCache": cache})
