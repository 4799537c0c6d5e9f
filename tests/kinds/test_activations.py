"""A Relu or Clip goes only where saturation does what it did; whatever happens, its limits hold."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin import quantize_static

from .checks import CONFIGURATIONS, FAITHFUL, S8S8, assert_close, model, nodes, quantized, run_at, samples, weights
from .graphs import ACTIVATIONS

LIMITS = {"Clip to [2, 3]": (2, 3), "Clip to [-2, -1]": (-2, -1), "Clip to [0, 6]": (0, 6), "Clip to [-1, 1]": (-1, 1)}


@pytest.mark.parametrize("configuration", ["u8s8", "per channel", "documented default", "npu", "vitis int16"])
@pytest.mark.parametrize("name", LIMITS)
def test_limits_hold(name: str, configuration: str) -> None:
    source = ACTIVATIONS[name]()
    result = quantize_static(source, None, samples(source), **CONFIGURATIONS[configuration])
    low, high = LIMITS[name]
    for level in FAITHFUL:
        for outputs in run_at(result.model, samples(source), level):
            assert low - 0.1 <= outputs["y"].min() <= outputs["y"].max() <= high + 0.1


def test_symmetric_activations_keep_relu() -> None:
    source = ACTIVATIONS["Relu behind a conv"]()
    assert len(nodes(quantized(source, extra_options={"ActivationSymmetric": True}), "Relu")) == 1
    assert len(nodes(quantized(source, extra_options={"ActivationSymmetric": True}, **S8S8), "Relu")) == 1


def test_asymmetric_activations_need_no_relu() -> None:
    source = ACTIVATIONS["Relu behind a conv"]()
    result = quantized(source)
    assert not nodes(result, "Relu")
    assert all(outputs["y"].min() >= 0 for outputs in run_at(result.model, samples(source)))


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if "output" in name or "readers" in name])
def test_what_else_reads_the_input_of_a_relu_sees_negative_values(name: str) -> None:
    source = ACTIVATIONS[name]()
    before = {value.name for value in source.graph.output}
    result = quantized(source)
    assert {value.name for value in result.model.graph.output} == before
    if "h" in before:
        assert min(outputs["h"].min() for outputs in run_at(result.model, samples(source))) < 0


@pytest.mark.parametrize("opset", [10, 11, 12, 13, 17, 21])
def test_clip_in_each_spelling(opset: int) -> None:
    call = "Clip<min = 0.0, max = 6.0>(h)" if opset < 11 else "Clip(h, lo, hi)"
    limits = {} if opset < 11 else {"lo": 0.0, "hi": 6.0}
    source = model(
        f"t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) {{ h = Conv(x, w) y = {call} }}",
        {"w": weights(1, 4, 3, 3, 3, scale=3), **limits},
        opset,
    )
    outputs = run_at(quantized(source).model, samples(source))
    found = np.concatenate([output["y"].ravel() for output in outputs])
    assert found.min() >= 0
    assert 5.9 < found.max() < 6.05


@pytest.mark.parametrize("op", ["Relu", "Clip"])
@pytest.mark.parametrize("request_", [{"op_types_to_quantize": ["Conv"]}, {"nodes_to_exclude": ["act"]}])
@pytest.mark.parametrize("configuration", ["u8s8", "documented default", "fix neuron"])
def test_what_an_unselected_activation_reads_is_quantized(
    op: str, request_: dict[str, list[str]], configuration: str
) -> None:
    source = model(
        f"""t (float[1, 3, 8, 8] x) => (float[1, 4, 4, 4] y)
        {{ h = Conv(x, w) [act] r = {op}(h{", zero, six" if op == "Clip" else ""}) y = Conv(r, v) }}""",
        {"w": weights(1, 4, 3, 3, 3), "v": weights(2, 4, 4, 3, 3), "zero": 0.0, "six": 6.0},
    )
    asked = CONFIGURATIONS[configuration]
    plain = {**asked.get("extra_options", {}), "Recipe": "plain"}  # which has nothing to say
    result = quantized(source, **{**asked, **request_, "extra_options": plain})
    assert len(result.report.notes) == ("nodes_to_exclude" in request_)
    assert all("alone changes nothing" in note for note in result.report.notes)
    (activation,) = nodes(result, op)
    makers = {name: node.op_type for node in nodes(result) for name in node.output}
    assert makers[activation.input[0]] in ("DequantizeLinear", "FixNeuron")
    assert_close(source, result, 20)
