"""The schemas of the custom ops let onnx check models that hold them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops


def typed_model() -> onnx.ModelProto:
    """x -> Q -> DQ of int16, with no types inside."""
    nodes = [
        helper.make_node("VitisQuantizeLinear", ["x", "s", "z"], ["q"], domain=custom_ops.VAI_DOMAIN),
        helper.make_node("VitisDequantizeLinear", ["q", "s", "z"], ["d"], domain=custom_ops.VAI_DOMAIN),
        helper.make_node("Relu", ["d"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "typed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, "N"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, "N"])],
        [helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]), helper.make_tensor("z", TensorProto.INT16, [], [0])],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(custom_ops.VAI_DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def test_schemas() -> None:
    custom_ops.register_schemas()
    custom_ops.register_schemas()
    model = typed_model()
    onnx.checker.check_model(model, full_check=True, check_custom_domain=True)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    types = {value.name: value.type.tensor_type for value in inferred.graph.value_info}
    assert types["q"].elem_type == TensorProto.INT16
    assert types["d"].elem_type == TensorProto.FLOAT
    assert [dim.dim_value or dim.dim_param for dim in types["q"].shape.dim] == [2, "N"]
    model.graph.node[0].op_type = "VitisQuantiseLinear"
    with pytest.raises(onnx.checker.ValidationError, match="VitisQuantiseLinear"):
        onnx.checker.check_model(model, check_custom_domain=True)


def test_schemas_with_functions_in_the_model() -> None:
    custom_ops.register_schemas()
    model = typed_model()
    custom_ops.add_functions(model)
    onnx.checker.check_model(model, full_check=True, check_custom_domain=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
