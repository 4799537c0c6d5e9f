"""Every name of ORT that we rely on exists, and takes the arguments that we give it.

Who relies on one more adds a row: to CALLS what is called or overridden, to ATTRIBUTES what is read, to ROUTES what a
function of ORT must still look up where we put something else.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
import dis
import importlib
import inspect
import textwrap
from types import FunctionType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ort_vitis_plugin.entry.attach import original_code

QUANTIZER = (
    "model, per_channel, reduce_range, weight_qType, activation_qType, tensors_range, nodes_to_quantize, "
    "nodes_to_exclude, op_types_to_quantize, extra_options="
)
STATIC = (
    "model_input, model_output, calibration_data_reader, quant_format=, op_types_to_quantize=, per_channel=, "
    "reduce_range=, activation_type=, weight_type=, nodes_to_quantize=, nodes_to_exclude=, "
    "use_external_data_format=, calibrate_method=, extra_options="
)
CALIBRATER = (
    "self, model_path, op_types_to_calibrate, augmented_model_path, symmetric=, use_external_data_format=, per_channel="
)
EDGE = "scale_name, zp_name, axis="

# "module:name" -> the call: names are positional, those ending in "=" by keyword.
CALLS = {
    # The doors (entry/attach.py).
    "quantize:quantize_static": STATIC,
    "quantize:quantize": "model_input, model_output, quant_config",
    "quantize:quantize_dynamic": "model_input, model_output, op_types_to_quantize=, weight_type=, extra_options=",
    "quantize:StaticQuantConfig": "calibration_data_reader, calibrate_method=, quant_format=, extra_options=",
    "calibrate:create_calibrator": (
        "model, op_types_to_calibrate, augmented_model_path, calibrate_method=, use_external_data_format=, "
        "extra_options="
    ),
    "shape_inference:quant_pre_process": "input_model, output_model_path, skip_optimization, skip_onnx_shape",
    # The quantizer, of which the marking half is ORT's: overridden, or called by us (quantizer.py).
    "qdq_quantizer:QDQQuantizer.__init__": "self, " + QUANTIZER,
    "qdq_quantizer:QDQQuantizer.should_quantize_node": "self, node",
    "qdq_quantizer:QDQQuantizer.calc_graph_quant_params": "self",
    "qdq_quantizer:QDQQuantizer.is_input_a_initializer": "self, input_name",
    "qdq_quantizer:QDQQuantizer.is_valid_quantize_weight": "self, weight_name",
    "qdq_quantizer:QDQQuantizer.quantize_activation_tensor": "self, tensor_name",
    "qdq_quantizer:QDQQuantizer.quantize_weight_tensor": "self, tensor_name",
    "qdq_quantizer:QDQQuantizer.quantize_weight_tensor_per_channel": "self, tensor_name, axis",
    "qdq_quantizer:QDQQuantizer.quantize_output_same_as_input": "self, output_name, input_name, node_name",
    "qdq_quantizer:QDQQuantizer.quantize_bias_tensor": "self, node_name, bias_name, input_name, weight_name, beta",
    "qdq_quantizer:QDQQuantizer.try_replacing_upstream_output": "self, upstream_output_name, output_name",
    "qdq_quantizer:QDQQuantizer.is_tensor_quantized": "self, tensor_name",
    "qdq_quantizer:QDQQuantizer.is_tensor_per_channel": "self, tensor_name, default_axis, op_type=",
    "qdq_quantizer:QDQQuantizer._is_tensor_quantizable": "self, tensor_name",
    "qdq_quantizer:QDQQuantizer._get_tensor_type": "self, tensor_name",
    "qdq_quantizer:QDQBiasQuantInfo": "node_name, input_name, weight_name, beta",
    "qdq_quantizer:QDQTensorQuantInfo": "tensor_type=, quant_para_provider=, axis=, data_type=",
    "operators.qdq_base_operator:QDQOperatorBase.__init__": "self, onnx_quantizer, onnx_node",
    "operators.qdq_base_operator:QDQOperatorBase.quantize": "self",
    "onnx_model:ONNXModel.initializer": "self",
    "onnx_model:ONNXModel.nodes": "self",
    "onnx_model:ONNXModel.get_initializer": "self, name",
    "onnx_model:ONNXModel.get_constant_value": "self, output_name",
    "onnx_model:ONNXModel.get_tensor_type": "self, tensor_name",
    "onnx_model:ONNXModel.is_graph_output": "self, output_name",
    "onnx_model:ONNXModel.is_graph_input": "self, tensor_name",
    # The other quantizer, for QOperator (legacy/quantizer.py).
    "onnx_quantizer:ONNXQuantizer.__init__": (
        "self, model, per_channel, reduce_range, mode, static, weight_qType, activation_qType, tensors_range, "
        "nodes_to_quantize, nodes_to_exclude, op_types_to_quantize, extra_options"
    ),
    "onnx_quantizer:ONNXQuantizer.quantize_model": "self",
    "onnx_quantizer:ONNXQuantizer.should_quantize_node": "self, node",
    "onnx_quantizer:ONNXQuantizer.calculate_quantization_params": "self",
    "onnx_quantizer:ONNXQuantizer.quantize_bias_static": "self, bias_name, input_name, weight_name, beta",
    "onnx_quantizer:ONNXQuantizer._get_dynamic_input_quantization_params_uint8": (
        "self, input_name, nodes_list, initial_type"
    ),
    "base_quantizer:QuantizationParams": "zero_point=, scale=, quant_type=",
    # Calibrators, which we subclass.
    "calibrate:CalibraterBase.__init__": CALIBRATER,
    "calibrate:CalibraterBase.set_execution_providers": "self, execution_providers",
    "calibrate:CalibraterBase.create_inference_session": "self",
    "calibrate:CalibraterBase.select_tensors_to_calibrate": "self, model",
    "calibrate:CalibraterBase.get_augment_model": "self",
    "calibrate:CalibraterBase.augment_graph": "self",
    "calibrate:CalibraterBase.collect_data": "self, data_reader",
    "calibrate:CalibraterBase.compute_data": "self",
    "calibrate:MinMaxCalibrater.__init__": CALIBRATER.replace("symmetric=", "symmetric=, moving_average="),
    "calibrate:TensorData.__init__": "self, lowest=, highest=",
    "calibrate:TensorsData.__init__": "self, calibration_method, data",
    "calibrate:CalibrationDataReader.get_next": "self",
    # Helpers.
    "quant_utils:add_infer_metadata": "model",
    "quant_utils:get_qmin_qmax_for_qType": "qType",
    "quant_utils:compute_scale_zp": "rmin, rmax, qmin, qmax, symmetric=, min_real_range=",
    "onnx_model:ONNXModel.__init__": "self, model",
    "onnx_model:ONNXModel.topological_sort": "self",
}

# What a function looks up, in this order, through globals or its object, so that we can put ours in place.
ROUTES = {
    "qdq_quantizer:QDQQuantizer.__init__": ["calc_graph_quant_params"],
    "onnx_quantizer:ONNXQuantizer.__init__": ["fuse_dynamic_quant", "calculate_quantization_params"],
    "quantize:quantize": ["quantize_static"],
    "quantize:quantize_static": ["create_calibrator", "collect_data", "compute_data", "QDQQuantizer", "quantize_model"],
}

# What a QDQQuantizer carries once it is built.
ATTRIBUTES = [
    "model",
    "tensors_to_quantize",
    "bias_to_quantize",
    "initializers",
    "tensor_quant_overrides",
    "quantize_bias",
    "add_qdq_pair_to_weight",
    "dedicated_qdq_pair",
    "opset_version",
    "extra_options",
]


def resolve(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(f"onnxruntime.quantization.{module}")
    for part in path.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(("name", "call"), CALLS.items(), ids=CALLS)
def test_call(name: str, call: str) -> None:
    given = [argument.strip() for argument in call.split(",")]
    positional = [argument for argument in given if not argument.endswith("=")]
    keywords = [argument.removesuffix("=") for argument in given if argument.endswith("=")]
    signature = inspect.signature(resolve(name))
    signature.bind(*positional, **dict.fromkeys(keywords))
    parameters = [*signature.parameters.values()]
    if all(parameter.kind is not inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        assert [parameter.name for parameter in parameters[: len(positional)]] == positional


@pytest.mark.parametrize(("name", "looked_up"), ROUTES.items(), ids=ROUTES)
def test_route(name: str, looked_up: list[str]) -> None:
    function = resolve(name)
    assert isinstance(function, FunctionType)
    assert function.__closure__ is None
    loads = iter([instruction.argval for instruction in dis.get_instructions(original_code(function.__code__))])
    assert all(wanted in loads for wanted in looked_up), "in this order"


def test_attributes() -> None:
    quantization = importlib.import_module("onnxruntime.quantization")
    calibrate = importlib.import_module("onnxruntime.quantization.calibrate")
    weight = numpy_helper.from_array(np.eye(2, dtype=np.float32), "w")
    value = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], "m")], "g", value[:1], value[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    ends = {"lowest": np.float32(-1), "highest": np.float32(1)}
    ranges = calibrate.TensorsData(
        quantization.CalibrationMethod.MinMax, {name: calibrate.TensorData(**ends) for name in "xy"}
    )
    int8 = quantization.QuantType.QInt8
    quantizer = resolve("qdq_quantizer:QDQQuantizer")(model, False, False, int8, int8, ranges, [], [], ["MatMul"], {})
    assert not [attribute for attribute in ATTRIBUTES if not hasattr(quantizer, attribute)]
    assert resolve("qdq_quantizer:QDQQuantTensorType.WEIGHT")


def test_handlers_ask_nothing_that_our_model_answers_by_searching() -> None:
    """ORT's QDQ handlers reach the model only through what `IndexedModel` answers from its index."""
    from ort_vitis_plugin.planning.ort_index import IndexedModel

    handlers = {*resolve("registry:QDQRegistry").values(), resolve("operators.qdq_base_operator:QDQOperatorBase")}
    asked = set()
    for handler in handlers:
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(handler)))):
            match node:
                case ast.Attribute(value=ast.Attribute(value=ast.Attribute(attr="quantizer"), attr="model"), attr=name):
                    asked.add(name)
    assert "initializer" in asked
    assert asked - {"model"} <= vars(IndexedModel).keys()


def test_swapped_functions_are_plain_python() -> None:
    """Code objects can be replaced only in functions written in Python, without closure."""
    for name in ("quantize:quantize_static", "calibrate:create_calibrator"):
        function = resolve(name)
        assert isinstance(function, FunctionType)
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert kinds == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
