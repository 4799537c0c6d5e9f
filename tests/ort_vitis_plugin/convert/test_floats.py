"""Quantization is undone: no pair is left, weights are floats, and a dropped Relu is back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.convert import quantized_to_float, remove_initializers_from_inputs
from ort_vitis_plugin.graph import Skip

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1, 2, 6, 6)).astype(np.float32)
W = (RNG.integers(-127, 127, (4, 2, 3, 3)) / 64).astype(np.float32)  # exact in int8 with scale 1/64


def conv(kind: str, zero_point: int, relu: bool) -> onnx.ModelProto:
    """x -> pair -> Conv(W) [-> Relu] -> pair -> y; zero point 0 of uint8 behind the Conv stands for a Relu."""
    nodes: list[onnx.NodeProto] = []
    initializers: list[onnx.TensorProto] = []

    def quantized(source: str, target: str, scale: float, zero: Any, codes: Any = None) -> None:
        zero = np.asarray(zero)
        parameters = [f"{target}_s", f"{target}_z"]
        initializers.append(numpy_helper.from_array(np.array(scale, np.float32), parameters[0]))
        initializers.append(numpy_helper.from_array(zero, parameters[1]))
        if kind == "FixNeuron":
            nodes.append(
                helper.make_node("FixNeuron", [source, *parameters], [target], domain=custom_ops.CONTRIB_DOMAIN)
            )
            return
        domain, prefix = (custom_ops.VAI_DOMAIN, "Vitis") if kind == "Vitis" else ("", "")
        stored = f"{target}_codes"
        if codes is None:
            nodes.append(helper.make_node(f"{prefix}QuantizeLinear", [source, *parameters], [stored], domain=domain))
        else:
            initializers.append(numpy_helper.from_array(codes, stored))
        nodes.append(helper.make_node(f"{prefix}DequantizeLinear", [stored, *parameters], [target], domain=domain))

    quantized("x", "x_f", 1 / 32, np.uint8(128))
    codes = None if kind == "FixNeuron" else (W * 64).astype(np.int8)
    if kind == "FixNeuron":
        initializers.append(numpy_helper.from_array(W, "W"))
    quantized("W", "W_f", 1 / 64, np.int8(0), codes)
    nodes.append(helper.make_node("Conv", ["x_f", "W_f"], ["c"]))
    if relu:
        nodes.append(helper.make_node("Relu", ["c"], ["r"]))
    quantized("r" if relu else "c", "y", 1 / 8, np.uint8(zero_point))
    graph = helper.make_graph(
        nodes,
        "conv",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    custom_ops.add_functions(model)
    return model


def run(model: onnx.ModelProto) -> Any:
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": X})[0]


def float_conv() -> Any:
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "W"], ["y"])],
        "float",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4])],
        [numpy_helper.from_array(W, "W")],
    )
    return run(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("zero_point", [128, 0])
@pytest.mark.parametrize("kind", ["native", "Vitis", "FixNeuron"])
def test_the_float_network_is_back(kind: str, zero_point: int, relu: bool) -> None:
    model = conv(kind, zero_point, relu)
    before = model.SerializeToString()
    skips: list[Skip] = []
    result = quantized_to_float(model, skips)
    assert model.SerializeToString() == before
    assert not skips
    assert {node.op_type for node in result.graph.node} <= {"Conv", "Relu"}
    assert not result.functions
    assert [entry.domain for entry in result.opset_import] == [""]
    assert {tensor.data_type for tensor in result.graph.initializer} == {TensorProto.FLOAT}
    want = float_conv()
    np.testing.assert_array_equal(run(result), np.maximum(want, 0) if relu or zero_point == 0 else want)


def test_a_pair_alone_is_the_identity() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
        ],
        "alone",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(X.shape))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, list(X.shape))],
        [helper.make_tensor("s", TensorProto.FLOAT, [], [0.1]), helper.make_tensor("z", TensorProto.UINT8, [], [0])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    np.testing.assert_array_equal(run(quantized_to_float(model)), X)


def test_integer_operators_stay_and_say_why() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            helper.make_node("MatMulInteger", ["q", "w"], ["m"], "the_matmul"),
            helper.make_node("Cast", ["m"], ["y"], to=TensorProto.FLOAT),
        ],
        "integers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(X.shape))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            helper.make_tensor("s", TensorProto.FLOAT, [], [0.1]),
            helper.make_tensor("z", TensorProto.UINT8, [], [0]),
            numpy_helper.from_array(np.ones((6, 2), np.int8), "w"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    skips: list[Skip] = []
    result = quantized_to_float(model, skips)
    assert [(skip.node, skip.op_type) for skip in skips] == [("the_matmul", "MatMulInteger")]
    assert [node.op_type for node in result.graph.node] == ["QuantizeLinear", "MatMulInteger", "Cast"]


def test_initializers_leave_the_inputs() -> None:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "b"], ["y"])],
        "old",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("x", "b")],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        [numpy_helper.from_array(np.ones(3, np.float32), "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=3)
    result = remove_initializers_from_inputs(model)
    assert [value.name for value in result.graph.input] == ["x"]
    assert len(model.graph.input) == 2
    onnx.checker.check_model(result)
    again = remove_initializers_from_inputs(result)
    assert again.SerializeToString() == result.SerializeToString()
