"""Steps that settle a graph: first what each must not change, then what it must."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import Stage
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, plain_context
from tests.plugins.ort_vitis_prepare.normalize.graph_steps import STEPS, Array, model

NAMES, TRIM, CONSTANTS, IDENTITY = "NameNodes", "TrimInputs", "ConstantNodes", "RemoveIdentity"
DROPOUT, CASTS, FOLD, CLASHES = "RemoveDropout", "RemoveCasts", "FoldConstants", "RenameClashes"

W = np.arange(12, dtype=np.float32).reshape(3, 4) / 8


def matrix(body: str, opset: int = 17, **constants: Array) -> ModelProto:
    return model(body, opset, "(float[2, 3] x) => (float[2, 4] y)", **constants)


def identity_of_input() -> ModelProto:
    return model("y = Identity(x)")


LEFT_ALONE: dict[str, tuple[str, ModelProto]] = {
    "names are unique": (NAMES, model("[a] t = Relu(x) [b] y = Relu(t)")),
    "an empty input in the middle": (TRIM, model("[c] y = Clip(x, , hi)", hi=np.float32(6))),
    "no Constant": (CONSTANTS, model("y = Relu(x)")),
    "a Constant that is a graph output": (
        CONSTANTS,
        model("y = Relu(x) z = Constant<value_float = 1.0>()", head="(float[2, 3] x) => (float[2, 3] y, float z)"),
    ),
    "Identity from input to output": (IDENTITY, identity_of_input()),
    "Identity from constant to output": (IDENTITY, model("y = Identity(w)", w=W[:2, :3])),
    "Identity between two outputs": (
        IDENTITY,
        model("z = Relu(x) y = Identity(z)", head="(float[2, 3] x) => (float[2, 3] y, float[2, 3] z)"),
    ),
    "a mask that is read": (
        DROPOUT,
        model("y, m = Dropout(x) z = Not(m)", head="(float[2, 3] x) => (float[2, 3] y, bool[2, 3] z)"),
    ),
    "training on demand": (
        DROPOUT,
        model("y = Dropout(x, r, t)", head="(float[2, 3] x, bool t) => (float[2, 3] y)", r=np.float32(0.5)),
    ),
    "to half and back loses bits": (CASTS, model("h = Cast<to = 10>(x) y = Cast<to = 1>(h)")),
    "to integer and back": (CASTS, model("h = Cast<to = 7>(x) y = Cast<to = 1>(h)")),
    "a Cast alone": (CASTS, model("y = Cast<to = 10>(x)", head="(float[2, 3] x) => (float16[2, 3] y)")),
    "computed at run time": (FOLD, model("t = Transpose(x) y = Transpose(t)")),
    "random": (
        FOLD,
        model("r = RandomNormalLike(w) z = Mul(r, n) y = Add(x, z)", w=W[:2, :3], n=np.zeros((2, 3), np.float32)),
    ),
    "weights that were quantized before": (
        FOLD,
        matrix(
            "d = DequantizeLinear(w, s, z) t = Transpose(d) y = MatMul(x, t)",
            13,
            w=np.ones((4, 3), np.int8),
            s=np.float32(0.5),
            z=np.int8(0),
        ),
    ),
    "a result that would blow up": (
        FOLD,
        model(
            "e = Tile(w, n) r = ReduceSum<keepdims = 0>(e) y = Mul(x, r)",
            w=np.ones((1, 1), np.float32),
            n=np.array([4096, 4096], np.int64),
        ),
    ),
    "a constant that callers may replace": (
        FOLD,
        graph(
            "t (float[2, 3] x, float[4, 3] w) => (float[2, 4] y) { u = Transpose(w) y = MatMul(x, u) }",
            constants={"w": W.reshape(4, 3)},
        ),
    ),
    "a constant graph output": (
        FOLD,
        model("u = Transpose(w) y = Relu(x)", head="(float[2, 3] x) => (float[2, 3] y, float[4, 3] u)", w=W),
    ),
    "integer division": (
        FOLD,
        model("q = Div(a, b) y = Reshape(x, q)", a=np.array([4, 6], np.int64), b=np.array([2, 2], np.int64)),
    ),
    "suffixes without a base": (CLASHES, model("a_scale = Relu(x) y = Relu(a_scale)")),
    "a graph output keeps its name": (
        CLASHES,
        model("x_scale = Relu(x)", head="(float[2, 3] x) => (float[2, 3] x_scale)"),
    ),
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_leaves_alone(case: str) -> None:
    key, source = LEFT_ALONE[case]
    edited = Graph(source)
    assert STEPS[key](edited, plain_context()) == 0
    assert op_types(edited.to_model()) == op_types(source)
    if case not in ("random", "training on demand", "a result that would blow up"):
        check_transform(STEPS[key], source)


SETTLED: dict[str, tuple[str, ModelProto, list[str]]] = {
    "no bias": (TRIM, model("y = Clip(x, lo, )", lo=np.float32(0)), ["Clip"]),
    "Constant as tensor": (CONSTANTS, model("c = Constant<value = float {2.0}>() y = Mul(x, c)"), ["Mul"]),
    "Constant as float": (CONSTANTS, model("c = Constant<value_float = 2.0>() y = Mul(x, c)"), ["Mul"]),
    "Constant as floats": (CONSTANTS, model("c = Constant<value_floats = [1.0, 2.0, 3.0]>() y = Mul(x, c)"), ["Mul"]),
    "Constant as ints": (CONSTANTS, model("c = Constant<value_ints = [2, 3]>() y = Reshape(x, c)"), ["Reshape"]),
    "Constant that many read": (
        CONSTANTS,
        model("c = Constant<value_float = 2.0>() t = Mul(x, c) y = Mul(t, c)"),
        ["Mul", "Mul"],
    ),
    "Identity inside": (IDENTITY, model("a = Relu(x) b = Identity(a) y = Neg(b)"), ["Relu", "Neg"]),
    "Identity of the input": (IDENTITY, model("b = Identity(x) y = Neg(b)"), ["Neg"]),
    "Identity of a constant": (IDENTITY, matrix("b = Identity(w) y = MatMul(x, b)", w=W), ["MatMul"]),
    "Identity before the output": (IDENTITY, model("a = Relu(x) y = Identity(a)"), ["Relu"]),
    "Identity before the output, branching": (
        IDENTITY,
        model("a = Relu(x) y = Identity(a) z = Neg(a)", head="(float[2, 3] x) => (float[2, 3] y, float[2, 3] z)"),
        ["Relu", "Neg"],
    ),
    "many": (IDENTITY, model("a = Identity(x) b = Identity(a) c = Relu(b) d = Identity(c) y = Identity(d)"), ["Relu"]),
    "Dropout": (DROPOUT, model("d = Dropout(x) y = Relu(d)"), ["Relu"]),
    "Dropout below opset 12": (DROPOUT, model("d = Dropout<ratio = 0.5>(x) y = Relu(d)", 11), ["Relu"]),
    "Dropout with a mask that nobody reads": (DROPOUT, model("d, m = Dropout(x) y = Relu(d)"), ["Relu"]),
    "Dropout that says it does not train": (
        DROPOUT,
        model("d = Dropout(x, r, t) y = Relu(d)", r=np.float32(0.5), t=np.array(False)),
        ["Relu"],
    ),
    "to double and back, input to output": (
        CASTS,
        model("d = Cast<to = 11>(x) y = Cast<to = 1>(d)"),
        ["Cast", "Cast"],
    ),
    "to double and back, inside": (CASTS, model("d = Cast<to = 11>(x) e = Cast<to = 1>(d) y = Relu(e)"), ["Relu"]),
    "half to float and back": (
        CASTS,
        model("f = Cast<to = 1>(x) h = Cast<to = 10>(f) y = Relu(h)", head="(float16[2, 3] x) => (float16[2, 3] y)"),
        ["Relu"],
    ),
    "to the same type": (CASTS, model("d = Cast<to = 1>(x) y = Relu(d)"), ["Relu"]),
    "somebody reads the wide one": (
        CASTS,
        model(
            "d = Cast<to = 11>(x) e = Cast<to = 1>(d) y = Relu(e) z = Neg(d)",
            head="(float[2, 3] x) => (float[2, 3] y, double[2, 3] z)",
        ),
        ["Cast", "Relu", "Neg"],
    ),
    "Transpose": (FOLD, matrix("t = Transpose<perm = [1, 0]>(w) y = MatMul(x, t)", w=W.reshape(4, 3)), ["MatMul"]),
    "Cast": (FOLD, matrix("t = Cast<to = 1>(w) y = MatMul(x, t)", w=W.astype(np.float16)), ["MatMul"]),
    "arithmetic": (
        FOLD,
        matrix("a = Mul(w, s) b = Add(a, s) c = Sqrt(b) y = MatMul(x, c)", w=W, s=np.float32(1.5)),
        ["MatMul"],
    ),
    "Reshape": (
        FOLD,
        matrix("t = Reshape(w, s) y = MatMul(x, t)", w=W.ravel(), s=np.array([3, -1], np.int64)),
        ["MatMul"],
    ),
    "Concat": (FOLD, matrix("t = Concat<axis = 0>(u, v) y = MatMul(x, t)", u=W[:1], v=W[1:]), ["MatMul"]),
    "Unsqueeze and Squeeze": (
        FOLD,
        matrix("u = Unsqueeze(w, a) t = Squeeze(u, a) y = MatMul(x, t)", w=W, a=np.array([0], np.int64)),
        ["MatMul"],
    ),
    "Unsqueeze with axes as attribute": (
        FOLD,
        matrix("u = Unsqueeze<axes = [0]>(w) t = Squeeze<axes = [0]>(u) y = MatMul(x, t)", 11, w=W),
        ["MatMul"],
    ),
    "Split": (
        FOLD,
        matrix(
            "u, v = Split<axis = 0>(w) t = MatMul(x, u) y = Add(t, b)",
            13,
            w=np.concatenate([W, W]),
            b=np.ones(4, np.float32),
        ),
        ["MatMul", "Add"],
    ),
    "the shape of a weight": (
        FOLD,
        model(
            "s = Shape(w) g = Gather(s, i) u = Unsqueeze(g, z) c = Concat<axis = 0>(u, m) y = Reshape(x, c)",
            w=W[:2],
            i=np.int64(0),
            z=np.array([0], np.int64),
            m=np.array([3], np.int64),
        ),
        ["Reshape"],
    ),
    "a weight that stays in use": (
        FOLD,
        model("t = Transpose(w) a = MatMul(x, w) y = MatMul(a, t)", w=W),
        ["MatMul", "MatMul"],
    ),
}


@pytest.mark.parametrize("case", SETTLED)
def test_settles(case: str) -> None:
    key, source, expected = SETTLED[case]
    # A runtime may multiply by a constant matrix in another order than by a computed one.
    assert op_types(check_transform(STEPS[key], source, tolerance=1e-6)) == expected


@pytest.mark.parametrize("opset", [10, 11, 13, 15, 17, 18, 21])
def test_fold_at_every_opset(opset: int) -> None:
    source = matrix(
        "t = Transpose<perm = [1, 0]>(w) u = Mul(t, s) y = MatMul(x, u)", opset, w=W.reshape(4, 3), s=np.float32(3)
    )
    assert op_types(check_transform(STEPS[FOLD], source)) == ["MatMul"]


def test_names() -> None:
    source = model("a = Relu(x) [n] b = Neg(a) [n] c = Abs(b) [n_1] d = Relu(c) y = Relu(d)")
    edited = Graph(source)
    assert STEPS[NAMES](edited, plain_context()) == 3
    assert STEPS[NAMES](edited, plain_context()) == 0
    assert [node.name for node in edited.to_model().graph.node] == ["Relu_a", "n", "n_2", "n_1", "Relu_y"]


def test_names_in_bodies_part() -> None:
    source = graph(
        """t (float[2, 3] x, bool c) => (float[2, 3] y)
        {
            [n] a = Relu(x)
            [m] y = If(c) <
                then_branch = p () => (float[2, 3] u) { [n] b = Abs(a) [n] u = Relu(b) },
                else_branch = q () => (float[2, 3] v) { [n] d = Neg(a) e = Abs(d) v = Relu(e) }
            >
        }"""
    )
    edited = Graph(source)
    assert STEPS[NAMES](edited, plain_context()) == 1
    bodies = [entry.g for entry in edited.to_model().graph.node[1].attribute]
    assert [[node.name for node in body.node] for body in bodies] == [["n", "n_1"], ["n", "", ""]]
    samples = [{"x": np.ones((2, 3), np.float32), "c": np.array(True)}]
    assert quantize_static(source, None, samples).report.sqnr["y"] > 20


def test_a_body_reads_what_identity_hid() -> None:
    source = graph(
        """t (float[2, 3] x, bool c) => (float[2, 3] y)
        {
            a = Relu(x)
            b = Identity(a)
            y = If(c) <
                then_branch = p () => (float[2, 3] u) { u = Abs(b) },
                else_branch = q () => (float[2, 3] v) { v = Neg(b) }
            >
        }"""
    )
    assert op_types(check_transform(STEPS[IDENTITY], source)) == ["Relu", "If"]


def test_a_body_reads_a_constant() -> None:
    source = graph(
        """t (float[2, 3] x, bool c) => (float[2, 3] y)
        {
            k = Constant<value_float = 2.0>()
            y = If(c) <
                then_branch = p () => (float[2, 3] u) { u = Mul(x, k) },
                else_branch = q () => (float[2, 3] v) { v = Neg(x) }
            >
        }"""
    )
    assert op_types(check_transform(STEPS[CONSTANTS], source)) == ["If"]


CLASHING = {
    "tensor": "x_QuantizeLinear_Output = Relu(x) y = Neg(x_QuantizeLinear_Output)",
    "constant": "y = Mul(x, x_scale)",
    "constant of a constant": "t = Mul(x, w) y = Mul(t, w_quantized)",
    "node": "[x_DequantizeLinear] y = Relu(x)",
}


@pytest.mark.parametrize("case", CLASHING)
def test_makes_room(case: str) -> None:
    one = np.float32(2)
    source = model(CLASHING[case], x_scale=one, w=one, w_quantized=one)
    result = check_transform(STEPS[CLASHES], source)
    names = {name for node in result.graph.node for name in (*node.input, *node.output, node.name)}
    assert not names & {"x_QuantizeLinear_Output", "x_scale", "w_quantized", "x_DequantizeLinear"}


def test_constant_strings_stay() -> None:
    node = helper.make_node("Constant", [], ["s"], value_string=b"text")
    source = model("y = Relu(x)")
    source.graph.node.append(node)
    edited = Graph(source)
    assert STEPS[CONSTANTS](edited, plain_context()) == 0


def test_a_thousand_weights() -> None:
    body = " ".join(f"t{n} = Transpose(w{n}) x{n + 1} = MatMul(x{n}, t{n})" for n in range(1000))
    source = model(
        f"x0 = Relu(x) {body} y = Relu(x1000)", **{f"w{n}": np.eye(3, dtype=np.float32) for n in range(1000)}
    )
    edited = Graph(source)
    assert STEPS[FOLD](edited, plain_context()) == 1000


def test_every_step_is_declared() -> None:
    ours = [NAMES, TRIM, CONSTANTS, IDENTITY, DROPOUT, CASTS, FOLD, CLASHES]
    assert [key for key in STEPS if key in ours] == ours
    assert all(step.stage is Stage.NORMALIZE and step.option is None for step in STEPS.values())


def test_what_the_request_names_stays_though_nobody_reads_it() -> None:
    source = model("a = Relu(x) b = Sigmoid(x) c = Tanh(x) d = Abs(c) y = Neg(x)")
    for kept, left in ((set(), ["Neg"]), ({"b"}, ["Sigmoid", "Neg"]), ({"d"}, ["Tanh", "Abs", "Neg"])):
        edited = Graph(source)
        edited.kept |= kept
        STEPS["RemoveUnread"](edited, plain_context())
        assert [node.op_type for node in edited] == left
