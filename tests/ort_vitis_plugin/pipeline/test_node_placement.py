"""The report says per node why the NPU will not take it: the device's limits, and what the call made of it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import CalibrationMethod, QuantFormat

from ort_vitis_plugin import VitisQuantFormat, VitisQuantType, quantize_static
from ort_vitis_plugin.pipeline.node_placement import broken_rules
from ort_vitis_plugin.testing import graph, random_feeds
from ort_vitis_plugin.testing import plan as positions


def network(size: str = "1, 3, 6, 6") -> ModelProto:
    return graph(
        f"""t (float[{size}] x) => (float[1, 4, 6, 6] y, float[1, 3, 6, 6] e)
        {{ [conv] h = Conv<pads = [1, 1, 1, 1]>(x, w) [act] y = Relu(h) [exp] e = Exp(x) }}""",
        17,
        {"w": np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)},
    )


def placement(**arguments: Any) -> dict[str, str]:
    model = network()
    return quantize_static(model, None, [random_feeds(model)], enable_dpu=True, **arguments).report.placement


def test_what_the_device_takes_is_not_listed() -> None:
    assert set(placement()) == {"exp"}
    assert "no Exp" in placement()["exp"]


def test_a_wide_type_leaves_the_device() -> None:
    wide = {"quant_format": VitisQuantFormat.QDQ, "activation_type": VitisQuantType.QInt16}
    found = placement(**wide)
    assert "type: x is QInt16, in which the device does not compute" in found["conv"]


def test_an_excluded_node_leaves_the_device() -> None:
    assert placement(nodes_to_exclude=["conv"])["conv"] == "stays float: in nodes_to_exclude"


def test_a_plain_target_forecasts_nothing() -> None:
    model = network()
    assert not quantize_static(model, None, [random_feeds(model)]).report.placement


def test_a_rule_that_does_not_hold_is_named_at_its_node() -> None:
    from dataclasses import replace

    from ort_vitis_plugin.plan import Bound

    planned = positions(network(), {"x": 5, "w": 7, "h": 20})
    x, w, h = planned.positions("x", "w", "h")
    bounds = [
        replace(Bound(w + x - h, low=0, high=16), rule="AdjustShiftCut", node="conv"),
        replace(Bound(x, low=5, high=5), rule="Holds", node="act"),
    ]
    broken = broken_rules(planned, bounds)
    assert set(broken) == {"conv"}
    assert "AdjustShiftCut" in broken["conv"]
    assert "-8" in broken["conv"]


@pytest.mark.parametrize("last", ["Sum(h, h)", "Max(h, x)", "Min(h, x)", "Mul(h, x)"])
def test_a_quantized_operator_gives_codes(last: str) -> None:
    weight = np.random.default_rng(0).normal(0, 0.3, (8, 8)).astype(np.float32)
    text = f"t (float[4, 8] x) => (float[4, 8] y) {{ [first] h = MatMul(x, w) [last] y = {last} }}"
    model = graph(text, constants={"w": weight})
    feeds = [{"x": np.random.default_rng(at).standard_normal((4, 8)).astype(np.float32)} for at in range(4)]
    result = quantize_static(
        model,
        None,
        feeds,
        quant_format=QuantFormat.QOperator,
        calibrate_method=CalibrationMethod.MinMax,
        extra_options={"Target": "cpu"},
    )
    written = {node.op_type for node in result.model.graph.node}
    is_float = last[:3] in written
    assert ("last" in result.report.quantized, "last" in result.report.left_float) == (not is_float, is_float)
