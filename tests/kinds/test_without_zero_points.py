"""FixNeuron and the NPU know no zero point; what would need one is symmetric, or refused before work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxruntime.quantization import QuantFormat, QuantType

from ort_vitis_plugin import VitisQuantFormat, quantize_static
from ort_vitis_plugin.errors import UnsupportedError

from .checks import assert_close, constants_of, dequantizer, model, nodes, quantized, samples, weights

TEXT = "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { h = Conv(x, w, b) r = Relu(h) y = Conv(r, v) }"


def source() -> Any:
    return model(TEXT, {"w": weights(1, 4, 3, 3, 3), "b": weights(2, 4), "v": weights(3, 4, 4, 1, 1)})


def zero_points(result: Any) -> set[int]:
    arrays = constants_of(result)
    return {int(v) for name, array in arrays.items() if "zero_point" in name for v in np.ravel(array)}


@pytest.mark.filterwarnings("ignore::ort_vitis_plugin.options.options.OptionWarning")
@pytest.mark.parametrize("options", [{}, {"UseUnsignedReLU": True}, {"ActivationSymmetric": True}])
def test_fix_neuron_has_no_zero_point_whatever_the_default(options: dict[str, Any]) -> None:
    proto = source()
    result = quantize_static(
        proto, None, samples(proto), VitisQuantFormat.FixNeuron, activation_type=QuantType.QInt8, extra_options=options
    )
    assert zero_points(result) <= {0}
    assert_close(proto, result, 20.0)


@pytest.mark.parametrize(
    "options",
    [
        {"ActivationSymmetric": False},
        {"TensorQuantOverrides": {"x": [{"symmetric": False}]}},
        {"TensorQuantOverrides": {"x": [{"scale": np.float32(0.5), "zero_point": np.int8(3)}]}},
    ],
)
def test_what_needs_a_zero_point_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError, match="no zero points"):
        quantize_static(source(), None, samples(source()), VitisQuantFormat.FixNeuron, extra_options=options)


@pytest.mark.parametrize(("kind", "zeros"), [(QuantType.QInt8, {0}), (QuantType.QUInt8, {0, 128})])
def test_unsigned_relu_on_the_npu(kind: QuantType, zeros: set[int]) -> None:
    options = {"UseUnsignedReLU": True}
    result = quantized(
        source(), activation_type=kind, enable_dpu=True, calibrate_method="MinMSE", extra_options=options
    )
    assert zero_points(result) == zeros


@pytest.mark.parametrize("options", [{}, {"enable_dpu": True}])
def test_pairs_on_weights_are_pairs_on_biases_with_positions(options: dict[str, Any]) -> None:
    proto = source()
    given = {"AddQDQPairToWeight": True, "ActivationSymmetric": True}
    result = quantized(proto, calibrate_method="MinMSE", extra_options=given, **options)
    conv = nodes(result, "Conv")[0]
    for tensor in conv.input[1:]:
        made = {name: node for node in nodes(result) for name in node.output}
        assert made[dequantizer(result, tensor).input[0]].op_type == "QuantizeLinear"
    assert {"w", "b"} <= constants_of(result).keys()
    assert_close(proto, result, 20.0)


def test_with_float_scales_biases_stay_int32_beside_pairs_on_weights() -> None:
    result = quantized(source(), extra_options={"AddQDQPairToWeight": True})
    (bias,) = {node.input[2] for node in nodes(result, "Conv") if len(node.input) > 2}
    assert constants_of(result)[dequantizer(result, bias).input[0]].dtype == np.int32


@pytest.mark.parametrize("options", [{}, {"ActivationSymmetric": True}])
def test_on_the_npu_biases_of_eight_bits_do_not_keep_operators_float(options: dict[str, Any]) -> None:
    arguments = {"enable_dpu": True, "calibrate_method": "MinMSE", "quant_format": QuantFormat.QOperator}
    result = quantized(source(), extra_options=options, **arguments)
    assert len(nodes(result, "QLinearConv")) == 2
    assert not nodes(result, "Conv")
