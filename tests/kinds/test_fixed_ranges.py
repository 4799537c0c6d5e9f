"""The range [0, 1] is that of a Softmax on codes; one that stays float fills what it fills."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxruntime.quantization import QuantType

from ort_vitis_plugin import quantize_static

from .checks import CONFIGURATIONS, assert_close, model, quantized, samples, scale_of, weights, with_configurations

ATTENTION = (
    "t (float[4, 8] x) => (float[4, 3] y) { h = MatMul(x, w) [soft] p = Softmax<axis = -1>(h) y = MatMul(p, v) }",
    {"w": weights(1, 8, 200, scale=0.1), "v": weights(2, 200, 3)},
)
LEFT_FLOAT: dict[str, dict[str, Any]] = {
    "excluded": {"nodes_to_exclude": ["soft"]},
    "not in the list of op types": {"op_types_to_quantize": ["MatMul"]},
    "the target leaves it float": {"extra_options": {"Target": "ipu_transformer"}},
    "powers of two": {"calibrate_method": "MinMSE", "nodes_to_exclude": ["soft"]},
    "on the NPU": {"enable_dpu": True, "calibrate_method": "MinMSE", "nodes_to_exclude": ["soft"]},
    "Percentile": {"calibrate_method": "Percentile", "nodes_to_exclude": ["soft"]},
}


@pytest.mark.parametrize("case", LEFT_FLOAT)
def test_the_reader_of_a_float_softmax_gets_its_own_range(case: str) -> None:
    source = model(*ATTENTION)
    result = quantized(source, **LEFT_FLOAT[case])
    assert scale_of(result, "p_DequantizeLinear_Output") < 0.03 / 127
    assert_close(source, result, 20.0)


@pytest.mark.parametrize(("case", "configuration"), with_configurations(["attention"], 3))
def test_in_every_configuration_a_float_softmax_keeps_small_probabilities(case: str, configuration: str) -> None:
    source = model(*ATTENTION)
    arguments = CONFIGURATIONS[configuration] | {"nodes_to_exclude": ["soft"]}
    result = quantize_static(source, None, samples(source), **arguments)
    assert_close(source, result, 20.0)


@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QInt8])
def test_a_quantized_softmax_has_the_range_0_to_1(kind: QuantType) -> None:
    result = quantized(model(*ATTENTION), activation_type=kind)
    assert np.isclose(scale_of(result, "p_DequantizeLinear_Output"), 1 / 255)
