"""add_functions gives a model exactly what it needs to run without the library, on any ORT."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.errors import UnsupportedError

X = np.array([[0.3, -1.2, 700.0], [2.5, -0.0, np.nan]], np.float32)
VAI, QUARK, CONTRIB = custom_ops.VAI_DOMAIN, custom_ops.QUARK_DOMAIN, custom_ops.CONTRIB_DOMAIN

Node = tuple[str, str, Any, dict[str, Any]]


def model_of(*nodes: Node, opset: int = 17, scale: Any = 0.25, ir_version: int = 8) -> onnx.ModelProto:
    """Each node reads x; quantizers are followed by the dequantizer of their name."""
    made, outputs, initializers = [], [], []
    scale = np.asarray(scale, np.float32)
    for index, (domain, op_type, dtype, attributes) in enumerate(nodes):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        names = [f"{letter}{index}" for letter in "szqy"]
        s, z, q, y = names
        zero = np.zeros(scale.shape, dtype)
        initializers.append(helper.make_tensor(s, TensorProto.FLOAT, scale.shape, scale.ravel()))
        initializers.append(helper.make_tensor(z, kind, scale.shape, zero.tobytes(), raw=True))
        single = op_type == "FixNeuron"
        made.append(helper.make_node(op_type, ["x", s, z], [y if single else q], domain=domain, **attributes))
        if not single:
            back = op_type.replace("Quantize", "Dequantize")
            made.append(helper.make_node(back, [q, s, z], [y], domain=domain, **attributes))
        outputs.append(helper.make_tensor_value_info(y, TensorProto.FLOAT, [2, 3]))
    graph = helper.make_graph(
        made, "model", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])], outputs, initializers
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def run(model: onnx.ModelProto) -> list[Any]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": X})


def expected(dtype: Any, scale: Any = 0.25) -> Any:
    zero = np.zeros(np.shape(scale), dtype)
    return custom_ops.dequantize_linear(custom_ops.quantize_linear(X, scale, zero), scale, zero)


def opset_of(model: onnx.ModelProto, domain: str = "") -> list[int]:
    return [entry.version for entry in model.opset_import if entry.domain == domain]


def test_a_model_without_our_ops_stays_as_it_is() -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "plain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=5)
    before = model.SerializeToString()
    custom_ops.add_functions(model)
    assert model.SerializeToString() == before


@pytest.mark.parametrize(
    ("domain", "op_type"),
    [(VAI, "VitisQuantizeLinear"), (QUARK, "ExtendedQuantizeLinear"), (CONTRIB, "QuantizeLinear"), (VAI, "FixNeuron")],
)
def test_function_per_op(domain: str, op_type: str) -> None:
    model = model_of((domain, op_type, np.int8, {}), ir_version=7)
    custom_ops.add_functions(model)
    custom_ops.add_functions(model)  # a second time changes nothing
    names = [op_type] if op_type == "FixNeuron" else [op_type, op_type.replace("Quantize", "Dequantize")]
    assert [(function.domain, function.name) for function in model.functions] == [(domain, name) for name in names]
    assert opset_of(model, domain) == [1]
    assert model.ir_version == 8
    onnx.checker.check_model(model)
    np.testing.assert_array_equal(run(model)[0], expected(np.int8))


def test_fix_neuron_of_the_original_is_native_quantization() -> None:
    """Decision 27: domain ai.onnx.contrib, string attributes, body of QuantizeLinear and DequantizeLinear."""
    model = model_of((CONTRIB, "FixNeuron", np.int8, {"bit_width": "8", "pos": "2"}))
    custom_ops.add_functions(model)
    (function,) = model.functions
    assert [node.op_type for node in function.node] == ["QuantizeLinear", "DequantizeLinear"]
    np.testing.assert_array_equal(run(model)[0], expected(np.int8))
    per_channel = model_of((CONTRIB, "FixNeuron", np.int8, {"bit_width": "8"}), scale=[0.25, 0.5, 4.0])
    custom_ops.add_functions(per_channel)
    np.testing.assert_array_equal(run(per_channel)[0], expected(np.int8, np.array([0.25, 0.5, 4.0])))


@pytest.mark.parametrize("domain", [VAI, CONTRIB])
def test_bit_widths(domain: str) -> None:
    """As int and as string, alone and several in one model."""
    for widths in ([4], ["4"], [4, "8", "16"], [None, 6]):
        nodes = [(domain, "FixNeuron", np.int8, {} if width is None else {"bit_width": width}) for width in widths]
        model = model_of(*nodes)
        custom_ops.add_functions(model)
        onnx.checker.check_model(model)
        for width, got in zip(widths, run(model), strict=True):
            want = custom_ops.fix_neuron(X, np.float32(0.25), np.int8(0), int(width or 8))
            np.testing.assert_array_equal(got, want)


def test_mixed_types_raise_opset_13_to_15() -> None:
    model = model_of((VAI, "VitisQuantizeLinear", np.int16, {}), (VAI, "VitisQuantizeLinear", np.int8, {}), opset=13)
    assert [function.name for function in custom_ops.model_functions(model)] == [
        "VitisQuantizeLinear",
        "VitisDequantizeLinear",
    ]
    assert opset_of(model) == [13]
    custom_ops.add_functions(model)
    assert opset_of(model) == [15]
    onnx.checker.check_model(model)
    for got, dtype in zip(run(model), (np.int16, np.int8), strict=True):
        np.testing.assert_array_equal(got, expected(dtype))


@pytest.mark.parametrize(
    ("nodes", "scale", "opset", "needed"),
    [
        ([np.int16, np.int8], 0.25, 12, 15),
        ([ml_dtypes.bfloat16], 0.25, 12, 13),
        ([np.int8], [0.25, 0.5, 1.0], 11, 13),
        ([np.int8], 0.25, 9, 10),
    ],
)
def test_opset_too_low(nodes: list[Any], scale: Any, opset: int, needed: int) -> None:
    model = model_of(*((VAI, "VitisQuantizeLinear", dtype, {}) for dtype in nodes), opset=opset, scale=scale)
    before = model.SerializeToString()
    with pytest.raises(
        UnsupportedError, match=rf"needs opset {needed} .* has {opset}; .*convert_version\(model, {needed}\)"
    ):
        custom_ops.add_functions(model)
    assert model.SerializeToString() == before


def test_axis_is_stated_where_the_default_was_meant() -> None:
    scale = np.array([0.25, 0.5, 4.0], np.float32)
    model = model_of((VAI, "VitisQuantizeLinear", np.int16, {}), scale=scale)
    custom_ops.add_functions(model)
    assert all(node.attribute[0].name == "axis" for node in model.graph.node)
    np.testing.assert_array_equal(run(model)[0], expected(np.int16, scale))


def test_nodes_inside_branches_and_functions_count() -> None:
    inner = model_of((VAI, "VitisQuantizeLinear", np.int16, {}))
    branch = helper.make_graph(inner.graph.node, "branch", [], inner.graph.output, inner.graph.initializer)
    node = helper.make_node("If", ["c"], ["out"], then_branch=branch, else_branch=branch)
    inputs = [helper.make_tensor_value_info("c", TensorProto.BOOL, []), inner.graph.input[0]]
    graph = helper.make_graph(
        [node], "outer", inputs, [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, 3])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    custom_ops.add_functions(model)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"c": np.array(True), "x": X})
    np.testing.assert_array_equal(got, expected(np.int16))


EVALUATORS: dict[str, Callable[[onnx.ModelProto], Any]] = {
    "functions": lambda model: ReferenceEvaluator(model),
    "classes": lambda model: ReferenceEvaluator(model, new_ops=custom_ops.reference_ops()),
}


@pytest.mark.parametrize("how", EVALUATORS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint32, np.float16])
def test_onnx_reference_evaluator(how: str, dtype: Any) -> None:
    model = model_of((VAI, "VitisQuantizeLinear", dtype, {"axis": 1}), scale=[0.25, 0.1, 3.0])
    if how == "functions":
        custom_ops.add_functions(model)
    else:
        model.opset_import.append(helper.make_opsetid(VAI, 1))
    (got,) = EVALUATORS[how](model).run(None, {"x": X})
    np.testing.assert_array_equal(got, expected(dtype, np.float32([0.25, 0.1, 3.0])))


@pytest.mark.parametrize("widths", [[4], ["4"], [None], [4, "8", None]], ids=str)
@pytest.mark.parametrize("domain", [VAI, CONTRIB])
def test_onnx_takes_a_bit_width_of_either_kind(domain: str, widths: list[Any]) -> None:
    """An attribute of a schema has one type: written models have text, and what has none is understood too."""
    custom_ops.register_schemas()
    nodes = [(domain, "FixNeuron", np.int8, {} if width is None else {"bit_width": width}) for width in widths]
    model = model_of(*nodes, scale=[0.25, 0.5, 4.0])
    model.opset_import.append(helper.make_opsetid(domain, 1))
    results = [EVALUATORS["classes"](model).run(None, {"x": X})]
    custom_ops.add_functions(model)
    onnx.checker.check_model(model, full_check=True, check_custom_domain=domain == VAI)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    results.append(run(model))
    if domain == VAI:  # the other's body has ONNX's own ops, which onnx's evaluator knows from opset 19 on
        results += [evaluator(model).run(None, {"x": X}) for evaluator in EVALUATORS.values()]
    for result in results:
        for width, value in zip(widths, result, strict=True):
            scale, zero = np.float32([0.25, 0.5, 4.0]), np.zeros(3, np.int8)
            np.testing.assert_array_equal(value, custom_ops.fix_neuron(X, scale, zero, int(width or 8)))


def test_reference_evaluator_knows_every_op() -> None:
    model = model_of(
        (VAI, "VitisQuantizeLinear", ml_dtypes.bfloat16, {}),
        (QUARK, "ExtendedQuantizeLinear", np.int16, {}),
        (VAI, "FixNeuron", np.int8, {"bit_width": "4"}),
        (CONTRIB, "QuantizeLinear", np.int8, {"bit_width": "8", "pos": "2"}),
        (CONTRIB, "FixNeuron", np.int8, {"bit_width": "4", "pos": "2"}),
    )
    model.opset_import.extend(helper.make_opsetid(domain, 1) for domain in (VAI, QUARK, CONTRIB))
    got = EVALUATORS["classes"](model).run(None, {"x": X})
    fixed = custom_ops.fix_neuron(X, np.float32(0.25), np.int8(0), 4)
    wanted = expected(ml_dtypes.bfloat16), expected(np.int16), fixed, expected(np.int8), fixed
    for left, right in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(left, right)


AXES = (-(2**31), -3, -2, -1, 0, 1, 2, 3, 2**31, 2**62)


@pytest.mark.parametrize("op_type", ["VitisQuantizeLinear", "FixNeuron"])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_functions_take_an_axis_where_kernels_do(op_type: str, axis: int, count: int) -> None:
    """Without allocating by it: a kernel takes any axis for one scale, else one that x has."""
    scale = np.array([0.25, 0.5, 1.0][:count], np.float32)
    attributes = {"axis": axis, **({"bit_width": "16"} if op_type == "FixNeuron" else {})}
    models = [model_of((VAI, op_type, np.int16, attributes), scale=scale) for _ in range(2)]
    custom_ops.add_functions(models[1])
    found: list[Any] = []
    for model, libraries in zip(models, (True, False), strict=True):
        options = ort.SessionOptions()
        options.log_severity_level = 4
        if libraries and not custom_ops.register(options):
            pytest.skip("the library is not built")
        try:
            session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            found.append(session.run(None, {"x": X})[0].tobytes())
        except Exception as error:
            found.append(type(error).__name__)
    kernel, function = found
    assert isinstance(kernel, bytes) == isinstance(function, bytes), found
    assert isinstance(kernel, str) or kernel == function
    assert isinstance(kernel, bytes) == (count == 1 or (-2 <= axis < 2 and X.shape[axis] == count))
