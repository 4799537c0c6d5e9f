"""Averages over dilated windows load and run in default sessions, in every format and at either side of a pair."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import onnx
import pytest
from onnx import ModelProto

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.testing import runs

from .checks import (
    CONFIGURATIONS,
    EVERYTHING,
    assert_close,
    model,
    nodes,
    quantized,
    run_at,
    samples,
    weights,
    with_configurations,
)

OPSET = 19  # the first in which AveragePool has dilations
HEAD = "t (float[1, 4, 8, 8] x) => (float y) "
POOL = "AveragePool<kernel_shape = [2, 2], dilations = [{step}, {step}]>"
BODIES = {
    "behind a Conv": "c = Conv(x, w) y = {pool}(c)",
    "between two": "c = Conv(x, w) p = {pool}(c) y = Conv(p, w)",
    "of the input": "p = {pool}(x) y = Conv(p, w)",
    "alone": "y = {pool}(x)",
    "moved": "c = Conv(x, w) p = {pool}(c) t = Transpose(p) y = Relu(t)",
}
pytestmark = pytest.mark.skipif(
    not runs("t (float[2] x) => (float[2] y) { y = Relu(x) }", OPSET), reason="this onnxruntime has no such opset"
)


def pooled(case: str, step: int) -> ModelProto:
    body = BODIES[case].format(pool=POOL.format(step=step))
    source = model(f"{HEAD} {{ {body} }}", {"w": weights(1, 4, 4, 1, 1)} if "Conv" in body else {}, OPSET)
    del source.graph.output[0].type.tensor_type.shape.dim[:]
    source.graph.output[0].type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(source)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize(("case", "configuration"), with_configurations(BODIES, 2))
def test_the_model_loads_and_is_near(case: str, configuration: str, step: int) -> None:
    source = pooled(case, step)
    result = quantize_static(source, None, samples(source), **CONFIGURATIONS[configuration])
    assert_close(source, result, 20.0)
    run_at(result.model, samples(source), EVERYTHING)


def test_dilations_of_one_are_quantized_as_none() -> None:
    result = quantized(pooled("between two", 1))
    (pool,) = nodes(result, "AveragePool")
    assert "dilations" not in [entry.name for entry in pool.attribute]
    assert "AveragePool" not in str(result.report.left_float)


def test_true_dilations_stay_float_and_say_why() -> None:
    result = quantized(pooled("between two", 2))
    assert "has no dilations" in str(result.report.left_float)
