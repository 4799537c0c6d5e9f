"""Each named configuration writes what its name says, in any case of letters."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import ort_vitis_plugin as vitis
from ort_vitis_plugin.api import settings_for
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.errors import UnknownNameError
from tests.models import networks

SETTLED = {
    "XINT8": ("ipu_cnn", "QuantFormat.QDQ", "QUInt8", "QInt8"),
    "A8W8": ("cpu", "QuantFormat.QDQ", "QInt8", "QInt8"),
    "S8S8": ("cpu", "QuantFormat.QDQ", "QInt8", "QInt8"),
    "U8S8": ("cpu", "QuantFormat.QDQ", "QUInt8", "QInt8"),
    "A16W8": ("cpu", "VitisQuantFormat.QDQ", "QInt16", "QInt8"),
    "S16S8": ("cpu", "VitisQuantFormat.QDQ", "QInt16", "QInt8"),
    "A16W16": ("cpu", "VitisQuantFormat.QDQ", "QInt16", "QInt16"),
    "BF16": ("cpu", "VitisQuantFormat.QDQ", "QBFloat16", "QBFloat16"),
    "FP16": ("cpu", "VitisQuantFormat.QDQ", "QFloat16", "QFloat16"),
    "TRANSFORMER_BF16": ("ipu_transformer", "VitisQuantFormat.QDQ", "QBFloat16", "QBFloat16"),
    "BF16_XINT8": ("cpu", "VitisQuantFormat.QDQ", "QUInt8", "QInt8"),
    "npu_cnn": ("ipu_cnn", "QuantFormat.QDQ", "QUInt8", "QInt8"),
    "npu_transformer": ("ipu_transformer", "QuantFormat.QDQ", "QInt8", "QInt8"),
}


@pytest.mark.parametrize("spelled", [str.lower, str.upper, str], ids=["lower", "upper", "as it is"])
@pytest.mark.parametrize(("name", "settled"), SETTLED.items())
def test_a_name_settles_target_format_and_types(name: str, settled: tuple[str, ...], spelled: Any) -> None:
    found = settings_for(extra_options={"Preset": spelled(name)})
    kind = type(found.format.key).__name__
    assert (found.target.name, f"{kind}.{found.format.key.name}", str(found.activation), str(found.weight)) == settled  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["S8S8", "S16S8"])
def test_symmetric_ones_have_no_zero_point_but_0(name: str) -> None:
    model = quantized(data.model_path(), data.calibration_reader(4), name).model
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    zeros = [
        constants[n.input[2]] for n in model.graph.node if n.op_type.endswith("QuantizeLinear") and len(n.input) > 2
    ]
    assert zeros
    assert all(not np.any(zero) for zero in zeros)


def test_mixed_one_has_two_types_by_op_type() -> None:
    result = quantized(str(networks.network("transformer")), networks.reader("transformer", 2), "BF16_XINT8")
    graph = result.model.graph
    made_by = {output: node.op_type for node in graph.node for output in node.output}
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    kinds = Counter(
        (made_by.get(node.input[0]), types[node.input[2]])
        for node in graph.node
        if node.op_type == "VitisQuantizeLinear" and node.input[0] in made_by
    )
    assert kinds["MatMul", TensorProto.UINT8] > 0
    assert kinds["MatMul", TensorProto.BFLOAT16] == 0
    assert kinds["Softmax", TensorProto.BFLOAT16] > 0
    assert kinds["Softmax", TensorProto.UINT8] == 0
    worse = quantized(str(networks.network("transformer")), networks.reader("transformer", 2), "XINT8")
    assert result.report.sqnr["logits"] > worse.report.sqnr["logits"] + 3


def test_types_by_op_give_way_to_tensors_that_are_named() -> None:
    named = {"quant_type": "QInt16"}
    result = vitis.quantize_static(
        str(networks.network("transformer")),
        None,
        networks.reader("transformer", 2),
        extra_options={"Preset": "BF16_XINT8", "TensorQuantOverrides": {"op:Softmax": [named]}, "SelfCheck": False},
    )
    kinds = {tensor.name: tensor.data_type for tensor in result.model.graph.initializer}
    made_by = {output: node.op_type for node in result.model.graph.node for output in node.output}
    found = {
        kinds[n.input[2]] for n in result.model.graph.node if made_by.get(n.input[0]) == "Softmax" and len(n.input) > 2
    }
    assert found == {TensorProto.INT16}


def test_unknown_names_name_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean A16W8"):
        settings_for(extra_options={"Preset": "A16W4"})


def quantized(model: str, reader: Any, preset: str) -> vitis.Result:
    return vitis.quantize_static(model, None, reader, extra_options={"Preset": preset})
