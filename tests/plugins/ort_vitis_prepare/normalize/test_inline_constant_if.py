"""An If goes where its condition is a constant, and stays where a run, a shape or the caller decides it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, helper

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, plain_context
from tests.plugins.ort_vitis_prepare.normalize.graph_steps import STEPS, Array, model

BRANCHES = """<
    then_branch = p () => (float[2, 3] u) { k = Constant<value_float = 2.0>() u = Mul(a, k) },
    else_branch = q () => (float[2, 3] v) { k = Neg(a) v = Relu(k) }
>"""


CONDITION = "(float[2, 3] x, bool c) => (float[2, 3] y)"


def branching(condition: str, branches: str = BRANCHES, **constants: Array) -> ModelProto:
    return model(f"{condition} a = Abs(x) y = If(c) {branches}", **constants)


BRANCHING: dict[str, tuple[ModelProto, list[str]]] = {
    "true, initializer": (branching("", c=np.array(True)), ["Abs", "Constant", "Mul"]),
    "false, initializer": (branching("", c=np.array(False)), ["Abs", "Neg", "Relu"]),
    "true, Constant of rank 1": (
        branching("c = Constant<value = bool[1] {1}>()"),
        ["Constant", "Abs", "Constant", "Mul"],
    ),
    "two with the same names inside": (
        model(f"a = Abs(x) t = If(c) {BRANCHES} s = If(c) {BRANCHES} y = Add(s, t)", c=np.array(False)),
        ["Abs", "Add", "Neg", "Neg", "Relu", "Relu"],
    ),
    "a branch that passes a tensor on": (
        branching(
            "",
            "< then_branch = p () => (float[2, 3] u) { u = Identity(a) }, "
            "else_branch = q () => (float[2, 3] v) { v = Neg(a) } >",
            c=np.array(True),
        ),
        ["Abs", "Identity"],
    ),
    "computed from constants": (
        branching("n = Not(f) e = Equal(i, j) c = And(n, e)", f=np.array(False), i=np.int64(3), j=np.int64(3)),
        ["Abs", "And", "Constant", "Equal", "Mul", "Not"],
    ),
    "computed from a static shape": (
        branching("s = Shape(x) g = Gather(s, i) c = Equal(g, j)", i=np.int64(1), j=np.int64(2)),
        ["Abs", "Equal", "Gather", "Neg", "Relu", "Shape"],
    ),
    "one within another": (
        branching(
            "",
            """<
            then_branch = p () => (float[2, 3] u) {
                b = Neg(a)
                u = If(c) < then_branch = s () => (float[2, 3] m) { k = Relu(b) m = Add(k, b) },
                            else_branch = r () => (float[2, 3] n) { n = Abs(b) } > },
            else_branch = q () => (float[2, 3] v) { v = Neg(a) }
            >""",
            c=np.array(True),
        ),
        ["Abs", "Add", "Neg", "Relu"],
    ),
    "around one that is decided at run time": (
        model(
            """a = Abs(x) s = ReduceSum<keepdims = 0>(x) d = Greater(s, z)
            y = If(c) <
            then_branch = p () => (float[2, 3] u) {
                b = Neg(a)
                u = If(d) < then_branch = s () => (float[2, 3] m) { k = Relu(b) m = Add(k, b) },
                            else_branch = r () => (float[2, 3] n) { n = Abs(b) } > },
            else_branch = q () => (float[2, 3] v) { v = Neg(a) }
            >""",
            c=np.array(True),
            z=np.float32(0),
        ),
        ["Abs", "Greater", "If", "Neg", "ReduceSum"],
    ),
}


@pytest.mark.parametrize("case", BRANCHING)
def test_constant_if(case: str) -> None:
    source, expected = BRANCHING[case]
    result = check_transform(STEPS["InlineConstantIf"], source)
    assert sorted(op_types(result)) == sorted(expected)


def test_if_decided_at_run_time_stays() -> None:
    source = model(f"a = Abs(x) y = If(c) {BRANCHES}", head=CONDITION)
    assert op_types(check_transform(STEPS["InlineConstantIf"], source)) == ["Abs", "If"]


def test_if_decided_by_a_free_dimension_stays() -> None:
    source = graph(
        f"""t (float[N, 3] x) => (float[N, 3] y)
        {{ s = Shape(x) g = Gather(s, i) c = Equal(g, j) a = Abs(x) y = If(c) {BRANCHES} }}""",
        constants={"i": np.int64(0), "j": np.int64(2)},
    )
    assert op_types(check_transform(STEPS["InlineConstantIf"], source))[-1] == "If"


def test_if_whose_condition_callers_may_replace_stays() -> None:
    source = model(f"a = Abs(x) y = If(c) {BRANCHES}", head=CONDITION, c=np.array(True))
    assert op_types(check_transform(STEPS["InlineConstantIf"], source)) == ["Abs", "If"]


def test_what_a_branch_knows_of_shapes_is_known_where_it_moves() -> None:
    source = branching("", c=np.array(True))
    (body,) = (entry.g for node in source.graph.node for entry in node.attribute if entry.name == "then_branch")
    body.value_info.append(helper.make_tensor_value_info("k", 1, ["N", None, 3]))
    edited = Graph(source)
    STEPS["InlineConstantIf"](edited, plain_context())
    (constant,) = edited.of_type("Constant")
    assert edited.shape(constant.output[0]) == ("N", None, 3)
