"""A written file says how it was made, and equal requests give equal bytes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin import PowerOfTwoMethod, QuantType, quantize_static
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.emission.provenance import KEY, recorded
from ort_vitis_plugin.onnx_io.model_hash import model_hash
from ort_vitis_plugin.request.provenance_facts import keywords


def quantized(model: Any = None, **arguments: Any) -> onnx.ModelProto:
    source = data.model_path() if model is None else model
    return quantize_static(source, None, data.calibration_reader(4), **arguments).model


def entries(model: onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


def test_the_facts_are_one_json_value() -> None:
    found = json.loads(entries(quantized(extra_options={"Preset": "ipu_cnn", "CLESteps": 3}, include_cle=True))[KEY])
    assert found == {
        "version": ort_vitis_plugin.__version__,
        "target": "ipu_cnn",
        "quant_format": "QuantFormat.QDQ",
        "calibrate_method": "PowerOfTwoMethod.MinMSE",
        "activation_type": "QUInt8",
        "weight_type": "QInt8",
        "arguments": {},
        "options": {"ActivationSymmetric": True, "CLESteps": 3, "IncludeCLE": True},
        "samples": 4,
        "random_samples": False,
        "float_model": model_hash(onnx.load(data.model_path())),
    }


def test_nothing_is_left_over() -> None:
    model = quantized()
    assert "onnx.infer" not in entries(model)
    assert entries(model).get("ort_vitis_plugin.saturation") != "{}"
    own = onnx.load(data.model_path())
    own.metadata_props.add(key="mine", value="kept")
    own.metadata_props.add(key="onnx.infer", value="onnxruntime.quant")
    assert {"mine", "onnx.infer"} <= entries(quantized(own)).keys()


def test_two_spellings_of_a_request_give_the_same_bytes(tmp_path: Path) -> None:
    short = quantized(extra_options={"Preset": "npu_cnn", "SelfCheck": False})
    onnx.save(onnx.load(data.model_path()), tmp_path / "elsewhere.onnx")
    long = quantized(
        tmp_path / "elsewhere.onnx",
        calibrate_method=PowerOfTwoMethod.MinMSE,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        enable_dpu=True,
        extra_options={"ActivationSymmetric": True},
    )
    proto = quantized(onnx.load(data.model_path()), extra_options={"Preset": "XINT8"})
    assert short.SerializeToString(deterministic=True) == long.SerializeToString(deterministic=True)
    assert proto.SerializeToString(deterministic=True) == long.SerializeToString(deterministic=True)


def test_no_path_host_or_time_is_in_it(tmp_path: Path) -> None:
    text = entries(quantized(extra_options={"CalibrationCache": str(tmp_path / "cache.npz")}))[KEY]
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    "arguments",
    [
        {"extra_options": {"Preset": "A16W8"}, "nodes_to_exclude": ["op:Gemm"], "per_channel": True},
        {"include_cle": True, "op_types_to_quantize": ["Conv", "Gemm"]},
        {"extra_options": {"TensorQuantOverrides": {"logits": [{"quant_type": QuantType.QInt16}]}}},
    ],
    ids=["preset", "op types", "overrides"],
)
def test_the_facts_are_the_call_again(arguments: dict[str, Any]) -> None:
    first = quantized(**arguments)
    found = recorded(first)
    assert found is not None
    again = quantized(**keywords(found))
    assert first.SerializeToString(deterministic=True) == again.SerializeToString(deterministic=True)


def test_a_file_without_facts_or_with_broken_ones() -> None:
    model = onnx.load(data.model_path())
    assert recorded(model) is None
    model.metadata_props.add(key=KEY, value="{")
    assert recorded(model) is None


def test_the_hash_is_of_values_not_of_their_storage() -> None:
    model = onnx.load(data.model_path())
    other = onnx.ModelProto()
    other.CopyFrom(model)
    for tensor in other.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            array = onnx.numpy_helper.to_array(tensor)
            tensor.CopyFrom(onnx.helper.make_tensor(tensor.name, tensor.data_type, tensor.dims, array.ravel().tolist()))
    assert model_hash(other) == model_hash(model)
    other.graph.node[0].name += "x"
    assert model_hash(other) != model_hash(model)
