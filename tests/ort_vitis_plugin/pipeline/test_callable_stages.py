"""Stages that are called one by one give the bytes of the whole call."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType, api, quantize_static
from ort_vitis_plugin.testing import graph, random_feeds

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "the NPU": {"extra_options": {"Preset": "ipu_cnn"}},
    "the NPU, equalized": {"extra_options": {"Preset": "ipu_cnn"}, "include_cle": True},
    "per channel": {"calibrate_method": api.CalibrationMethod.MinMax, "per_channel": True},
    "wide": {"quant_format": VitisQuantFormat.QDQ, "activation_type": VitisQuantType.QInt16},
    "QOperator": {"quant_format": api.QuantFormat.QOperator, "calibrate_method": PowerOfTwoMethod.NonOverflow},
    "without a node that is renamed": {"nodes_to_exclude": ["x_q_QuantizeLinear"]},
    "from a node on": {"input_nodes": ["pool"]},
    "bodies": {"extra_options": {"EnableSubgraph": True}},
}


def network() -> ModelProto:
    generator = np.random.default_rng(1)
    body = """[r] x_q = Relu(x) [x_q_QuantizeLinear] h = Conv<pads = [1, 1, 1, 1]>(x_q, w, b) i = Relu(h)
    [pool] p = GlobalAveragePool(i) s = ReduceSum<keepdims = 0>(p) c = Cast<to = 9>(s)
    [if] y = If(c) <then_branch = g () => (float[1, 4, 1, 1] z) { [add] z = Add(p, p) },
                    else_branch = k () => (float[1, 4, 1, 1] v) { [add] v = Mul(p, p) }>"""
    return graph(
        f"t (float[1, 3, 6, 6] x) => (float[1, 4, 1, 1] y) {{ {body} }}",
        17,
        {
            "w": generator.standard_normal((4, 3, 3, 3)).astype(np.float32),
            "b": generator.standard_normal(4).astype(np.float32),
        },
    )


@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_the_stages_give_what_the_call_gives(case: str) -> None:
    model = network()
    before = model.SerializeToString(deterministic=True)
    feeds = [random_feeds(model, seed) for seed in range(2)]
    whole = quantize_static(model, None, list(feeds), **CONFIGURATIONS[case]).model

    settings = api.settings_for(**CONFIGURATIONS[case])
    prepared, settings = api.prepare(model, settings)
    statistics = api.observe(prepared, list(feeds), settings)
    planned = api.plan(prepared, statistics, settings)
    written = api.emit(api.solve(planned))
    assert written.SerializeToString(deterministic=True) == whole.SerializeToString(deterministic=True)
    assert model.SerializeToString(deterministic=True) == before


def test_one_observation_serves_many_plans() -> None:
    model = network()
    prepared, settings = api.prepare(model, api.settings_for())
    statistics = api.observe(prepared, [random_feeds(model)], settings)
    first, second = (
        api.emit(api.solve(api.plan(prepared, statistics, settings))).SerializeToString(deterministic=True)
        for _ in range(2)
    )
    assert first == second
