"""The quantizer of 2019 takes parameters literally and quantizes dynamic inputs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from ort_vitis_plugin.legacy import QuantizationMode, calibrate, quantize

if TYPE_CHECKING:
    from pathlib import Path
from tests.ort_vitis_plugin.legacy.networks import (
    INTEGER,
    LINEAR,
    Reader,
    model_of,
    network,
    ops,
    relative_error,
    run,
    samples,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*is the interface of 2019:DeprecationWarning")

OLD_ORT = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 32)


@pytest.mark.parametrize("opset", [9, 10, 11, 13, 17])
@pytest.mark.parametrize("force_fusions", [False, True])
def test_dynamic_integer_ops(opset: int, force_fusions: bool) -> None:
    quantized = quantize(network(opset), force_fusions=force_fusions)
    assert ops(quantized)["ConvInteger"] == 2
    assert ops(quantized)["MatMulInteger"] == 1
    assert ops(quantized)["DynamicQuantizeLinear"] == 3 * force_fusions
    assert relative_error(quantized, network(opset)) < 0.03


def test_single_steps_equal_dynamic_quantize_linear() -> None:
    single, fused = (quantize(network(), force_fusions=fused) for fused in (False, True))
    for feed in [*samples(4, 2), {"x": np.zeros((1, 3, 8, 8), np.float32)}, {"x": np.ones((1, 3, 8, 8), np.float32)}]:
        np.testing.assert_allclose(run(single, feed), run(fused, feed), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", [INTEGER, LINEAR])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("asymmetric_input_types", [False, True])
def test_static(
    mode: QuantizationMode, per_channel: bool, asymmetric_input_types: bool, parameters: dict[str, list[Any]]
) -> None:
    quantized = quantize(
        network(),
        per_channel=per_channel,
        quantization_mode=mode,
        static=True,
        asymmetric_input_types=asymmetric_input_types,
        quantization_params=parameters,
    )
    assert ops(quantized)["QLinearConv" if mode == LINEAR else "ConvInteger"] == 2
    weights = {tensor.data_type for tensor in quantized.graph.initializer if tensor.name == "w3_quantized"}
    assert weights == {TensorProto.INT8 if asymmetric_input_types else TensorProto.UINT8}
    if mode == INTEGER and asymmetric_input_types and OLD_ORT:
        pytest.skip("ConvInteger with int8 weights does not run on the CPU before onnxruntime 1.32")
    assert relative_error(quantized, network()) < 0.04


@pytest.mark.parametrize("mode", [INTEGER, LINEAR])
def test_parameters_are_taken_literally(mode: QuantizationMode, parameters: dict[str, list[Any]]) -> None:
    given = {**parameters, "x": [np.uint8(113), np.float32(0.05)], "c1": [np.uint8(7), np.float32(0.037)]}
    quantized = quantize(network(), quantization_mode=mode, static=True, quantization_params=given)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in quantized.graph.initializer}
    checked = [name for name in given if f"{name}_scale" in values]
    assert {"x", "c1"} - set(checked) == ({"c1"} if mode == INTEGER else set())
    for name in checked:
        assert values[f"{name}_zero_point"] == given[name][0]
        assert values[f"{name}_scale"] == given[name][1]


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("force_fusions", [False, True])
def test_dynamic_qlinear_ops_with_bias(
    per_channel: bool, force_fusions: bool, parameters: dict[str, list[Any]]
) -> None:
    outputs = {name: parameters[name] for name in ("c1", "c2", "y")}
    model = network()
    quantized = quantize(
        model, per_channel, quantization_mode=LINEAR, force_fusions=force_fusions, quantization_params=outputs
    )
    assert ops(quantized)["QLinearConv"] == 2
    assert ops(quantized)["QLinearMatMul"] == 1
    assert ops(quantized)["DynamicQuantizeLinear"] == 3 * force_fusions
    assert all(len(node.input) == 9 for node in quantized.graph.node if node.op_type == "QLinearConv")
    error = relative_error(quantized, model)
    assert error < 0.04
    run(quantized, {"x": np.zeros((1, 3, 8, 8), np.float32)})
    if per_channel:
        return  # int8 weights: without VNNI, x86 saturates u8 x s8 sums, the more the better the inputs use their range
    static = quantize(model, quantization_mode=LINEAR, static=True, quantization_params=parameters)
    assert error < 1.2 * relative_error(static, model)


def test_bias_shared_under_two_scales(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b"], ["c1"], "conv1"),
        helper.make_node("Conv", ["c1", "w2", "b"], ["y"], "conv2"),
    ]
    shapes = {"w1": [3, 3, 3, 3], "w2": [3, 3, 3, 3], "b": [3]}
    model = model_of(nodes, shapes, output=[1, 3, 4, 4])
    onnx.save(model, tmp_path / "m.onnx")
    parameters = calibrate(tmp_path / "m.onnx", Reader())
    quantized = quantize(model, quantization_mode=LINEAR, static=True, quantization_params=parameters)
    assert relative_error(quantized, model) < 0.03
