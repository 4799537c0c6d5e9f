"""Models of old opsets and with local functions compute the same after they are settled."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantType

import ort_vitis_prepare.normalize.raise_opset as steps
from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.graph.default_opset import default_opset
from ort_vitis_plugin.testing import assert_same_outputs, graph, op_types, random_feeds, run_model
from ort_vitis_prepare.normalize.inline_functions import inline_functions
from ort_vitis_prepare.normalize.raise_opset import raise_opset

Array = np.ndarray[Any, Any]
SHAPE = (1, 2, 4, 6)


def old(
    op_type: str, opset: int, *constants: Array, out: tuple[int, ...] | None = SHAPE, ir: int = 4, **attributes: Any
) -> ModelProto:
    """One node of an old opset behind a Relu."""
    arrays = [numpy_helper.from_array(array, f"c{number}") for number, array in enumerate(constants)]
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node(op_type, ["r", *(array.name for array in arrays)], ["y"], **attributes),
    ]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)]
    if ir < 4:
        values += [helper.make_tensor_value_info(a.name, a.data_type, list(a.dims)) for a in arrays]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)]
    built = helper.make_graph(nodes, "old", values, outputs, arrays)
    return helper.make_model(built, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)


def scaled(*scales: float) -> tuple[int, ...]:
    return tuple(int(np.floor(side * scale)) for side, scale in zip(SHAPE, scales, strict=True))


def resized(op_type: str, opset: int, mode: str, *scales: float) -> ModelProto:
    if opset == 7:
        return old(op_type, 7, mode=mode, scales=[float(scale) for scale in scales], out=scaled(*scales))
    return old(op_type, opset, np.array(scales, np.float32), mode=mode, out=scaled(*scales))


NORM = [np.array([1.5, 2], np.float32), np.array([0, 1], np.float32), np.ones(2, np.float32), np.ones(2, np.float32)]

OLD: dict[str, ModelProto] = {
    **{
        f"Upsample {opset}, {mode}, {high} x {wide}": resized("Upsample", opset, mode, 1, 1, high, wide)
        for opset in (7, 9)
        for mode in ("nearest", "linear")
        for high, wide in ((2, 2), (3, 3), (2.5, 1.5))
    },
    **{
        f"Resize 10, {mode}, {high} x {wide}": resized("Resize", 10, mode, 1, 1, high, wide)
        for mode in ("nearest", "linear")
        for high, wide in ((2, 2), (3, 1), (0.7, 0.7), (0.75, 0.3))
    },
    "Pad": old("Pad", 9, pads=[0, 0, 1, 1, 0, 0, 2, 2], value=1.5, out=(1, 2, 7, 9)),
    "Clip": old("Clip", 9, min=0.25, max=6.0),
    "Clip without maximum": old("Clip", 8, min=0.25),
    "Slice": old("Slice", 9, axes=[2], starts=[1], ends=[3], out=(1, 2, 2, 6)),
    "BatchNormalization": old("BatchNormalization", 7, *NORM),
    "BatchNormalization, initializers listed as inputs": old("BatchNormalization", 8, *NORM, ir=3),
    "AveragePool": old("AveragePool", 9, kernel_shape=[2, 2], out=(1, 2, 3, 5)),
    "MaxPool": old("MaxPool", 8, kernel_shape=[2, 2], out=(1, 2, 3, 5)),
    "Softmax": old("Softmax", 8, axis=1),
    "Dropout": old("Dropout", 7, ratio=0.5),
    "Squeeze": old("Squeeze", 9, axes=[0], out=(2, 4, 6)),
    "ReduceMean": old("ReduceMean", 9, axes=[2, 3], out=(1, 2, 1, 1)),
    "PRelu": old("PRelu", 7, np.array([[[0.5]], [[2]]], np.float32)),
}


@pytest.mark.parametrize("case", OLD)
def test_old_opsets_keep_their_meaning(case: str) -> None:
    source = OLD[case]
    before = source.SerializeToString()
    raised = raise_opset(source)
    assert source.SerializeToString() == before
    assert default_opset(raised) == 11
    onnx.checker.check_model(raised, full_check=True)
    feeds = random_feeds(source)
    assert_same_outputs(run_model(source, feeds), run_model(raised, feeds), 1e-6)


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
def test_newer_opsets_stay(opset: int) -> None:
    source = graph("t (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }", opset)
    assert raise_opset(source) is source


def test_raises_as_far_as_needed() -> None:
    source = graph("t (float[2, 3] x) => (float[2, 3] y) { y = Softmax(x) }", 11)
    raised = raise_opset(source, 13)
    assert default_opset(raised) == 13
    feeds = random_feeds(source)
    assert_same_outputs(run_model(source, feeds), run_model(raised, feeds), 1e-6)


def test_bodies_are_raised_too() -> None:
    source = graph(
        """t (float[1, 2, 4, 6] x, bool c) => (float[1, 2, 4, 6] y)
        {
            y = If(c) <
                then_branch = p () => (float[1, 2, 4, 6] u) { u = Clip<min = 0.0, max = 0.5>(x) },
                else_branch = q () => (float[1, 2, 4, 6] v) { v = Neg(x) }
            >
        }""",
        9,
        ir_version=4,
    )
    feeds = random_feeds(source)
    feeds["c"] = np.array(True)
    assert_same_outputs(run_model(source, feeds), run_model(raise_opset(source), feeds))


def test_one_resize_cannot_enlarge_and_shrink_as_before() -> None:
    with pytest.raises(ModelError, match="enlarges one axis and shrinks another"):
        raise_opset(resized("Resize", 10, "nearest", 1, 1, 0.5, 2))


def test_a_model_without_default_operators_states_their_set_and_is_handed_over() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["ai.onnx.ml" : 1]> t (float[2, 3] x) => (float[2, 3] y)
        { y = ai.onnx.ml.Binarizer<threshold = 0.5>(x) }"""
    )
    raised = raise_opset(model)
    assert default_opset(raised) == steps.PREFERRED_OPSET
    assert [entry.domain for entry in model.opset_import] == ["ai.onnx.ml"]
    feeds = [random_feeds(model)]
    assert_same_outputs(run_model(model, feeds[0]), run_model(quantize_static(model, None, feeds).model, feeds[0]))


def test_what_cannot_be_raised_is_named() -> None:
    source = old("Relu", 9)
    source.graph.node[1].op_type = "NeverHeardOf"
    with pytest.raises(ModelError, match=r"of opset 9 and cannot be raised to 11 .*export it again"):
        raise_opset(source)


def test_opset_10_stays_where_the_converter_gives_up() -> None:
    source = old("Relu", 10)
    source.graph.node[1].op_type = "NeverHeardOf"
    assert raise_opset(source) is source


FUNCTIONS = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
t (float[2, 3] x) => (float[2, 3] y) { [outer] h = local.Twice(x) y = Relu(h) }
<domain: "local", opset_import: ["" : 17, "local" : 1]> Twice (a) => (b) { c = local.Shift(a) b = Add(c, c) }
<domain: "local", opset_import: ["" : 17]> Shift (a) => (b) { one = Constant<value_float = 1.0>() b = Sub(a, one) }
"""


def test_functions_are_inlined() -> None:
    source = graph(FUNCTIONS)
    before = source.SerializeToString()
    inlined = inline_functions(source)
    assert source.SerializeToString() == before
    assert not inlined.functions
    assert op_types(inlined) == ["Constant", "Sub", "Add", "Relu"]
    feeds = random_feeds(source)
    assert_same_outputs(run_model(source, feeds), run_model(inlined, feeds))


def test_nothing_to_inline() -> None:
    source = graph("t (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }")
    assert inline_functions(source) is source


@pytest.mark.parametrize(
    ("opset", "op_type", "has"),
    [
        (steps.MINIMUM_OPSET, "QuantizeLinear", lambda schema: True),
        (steps.PREFERRED_OPSET, "Clip", lambda schema: len(schema.inputs) == 3),
        (steps.AXIS_OPSET, "QuantizeLinear", lambda schema: "axis" in schema.attributes),
        (steps.FLOAT16_OPSET, "QuantizeLinear", lambda schema: "tensor(float16)" in types(schema)),
        (steps.WIDE_OPSET, "QuantizeLinear", lambda schema: "tensor(int16)" in types(schema)),
        (steps.WIDE_OPSET, "QuantizeLinear", lambda schema: "tensor(int4)" in types(schema)),
        (steps.WIDE_OPSET, "QuantizeLinear", lambda schema: "block_size" in schema.attributes),
    ],
)
def test_opsets_are_the_first_that_have_what_is_needed(opset: int, op_type: str, has: Any) -> None:
    assert has(onnx.defs.get_schema(op_type, opset))
    try:
        before = onnx.defs.get_schema(op_type, opset - 1)
    except onnx.defs.SchemaError:
        return
    assert not has(before)


def types(schema: Any) -> set[str]:
    """All types that any input or output of an operator may have."""
    return {kind for constraint in schema.type_constraints for kind in constraint.allowed_type_strs}


WIDE, NARROW = QuantType.QInt16, QuantType.QInt8


@pytest.mark.parametrize(
    ("activation", "options", "raised"),
    [
        (NARROW, {}, False),
        (WIDE, {}, True),
        (WIDE, {"UseQDQContribOps": True}, False),
        (WIDE, {"Target": "ipu_transformer"}, False),
        (NARROW, {"TensorQuantOverrides": {"w": [{"quant_type": WIDE}]}}, True),
        (NARROW, {"TensorQuantOverrides": {"x": [{"quant_type": NARROW, "convert": {"quant_type": WIDE}}]}}, True),
    ],
)
@pytest.mark.parametrize("opset", [11, 17, 21])
def test_16_bits_raise_a_model_to_where_onnx_has_them(
    opset: int, activation: Any, options: dict[str, Any], raised: bool
) -> None:
    source = graph("t (float[1, 4] x) => (float[1, 4] y) { y = MatMul(x, w) }", opset, {"w": np.eye(4, dtype="f")})
    arguments = {"activation_type": activation, "weight_type": NARROW, "calibrate_method": CalibrationMethod.MinMax}
    settings = {"Target": "cpu", "SelfCheck": False, "Recipe": "plain", **options}
    feeds = [{"x": np.ones((1, 4), np.float32)}]
    found = quantize_static(source, None, feeds, **arguments, extra_options=settings).model
    assert default_opset(found) == (21 if raised else max(opset, 11))
