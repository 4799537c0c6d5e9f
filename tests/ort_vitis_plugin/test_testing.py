"""The helpers for plugin authors catch what they promise to catch."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import types

import numpy as np
import pytest

from ort_vitis_plugin.api import Graph, OptionGroup, Role, Stage, hookimpl, option, transform
from ort_vitis_plugin.testing import (
    check_plugin,
    check_transform,
    graph,
    op_types,
    opsets,
    plan,
    random_feeds,
    run_model,
    runs,
)

RELU = "t (float[2, 3] x) => (float[2, 3] y) { h = Relu(x) y = Relu(h) }"


@transform("Nothing", stage=Stage.PREPARE)
def nothing(edited: Graph) -> int:
    """Rewrite nothing."""
    return 0


@transform("Again", stage=Stage.PREPARE)
def again(edited: Graph) -> int:
    """Claim a rewrite each time."""
    return 1


@transform("Function", stage=Stage.PREPARE)
def function(edited: Graph) -> int:
    """Change what is computed."""
    found = [node for node in edited.of_type("Relu") if node.output[0] == "h"]
    for node in found:
        node.op_type = "Neg"
    return len(found)


@transform("Meant", stage=Stage.PREPARE, changes_function=True)
def meant(edited: Graph) -> int:
    """Change what is computed, and say so."""
    return function.apply(edited)


@transform("Outputs", stage=Stage.PREPARE)
def outputs(edited: Graph) -> int:
    """Rename an output."""
    if edited.model.graph.output[0].name == "z":
        return 0
    edited.model.graph.output[0].name = "z"
    edited.set_outputs(next(node for node in edited if node.output[0] == "y"), ["z"])
    return 1


@transform("Invalid", stage=Stage.PREPARE, changes_function=True)
def invalid(edited: Graph) -> int:
    """Leave a graph that the checker refuses."""
    found = [node for node in edited.of_type("Relu") if node.output[0] == "h"]
    for node in found:
        node.op_type = "NoSuchOperator"
    return len(found)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (again, "rewrites its own result again"),
        (function, "Mismatched elements"),
        (outputs, "changes the graph's outputs"),
        (invalid, "NoSuchOperator"),
    ],
    ids=lambda value: getattr(value, "key", ""),
)
def test_a_transform_that_breaks_its_contract(step, message: str) -> None:
    with pytest.raises(Exception, match=message):
        check_transform(step, graph(RELU))


def test_one_that_keeps_it() -> None:
    assert op_types(check_transform(nothing, graph(RELU))) == ["Relu", "Relu"]
    assert op_types(check_transform(meant, graph(RELU))) == ["Neg", "Relu"]


def test_tolerance_is_relative_to_the_largest_value() -> None:
    @transform("Tiny", stage=Stage.PREPARE)
    def tiny(edited: Graph) -> int:
        """Change a constant a little."""
        if edited.array("c")[0] > 1:  # type: ignore[index]
            return 0
        edited.set_inputs(next(iter(edited)), ["x", edited.add_initializer("d", np.array([1.001], np.float32))])
        return 1

    @transform("Tiny", stage=Stage.PREPARE)
    def once(edited: Graph) -> int:
        """The same once."""
        return tiny.apply(edited) if "d" not in edited.initializers else 0

    model = graph("t (float[5] x) => (float[5] y) <float[1] c = {1.0}> { y = Mul(x, c) }")
    with pytest.raises(AssertionError):
        check_transform(once, model)
    check_transform(once, model, tolerance=2e-3)


def test_feeds_and_runs() -> None:
    model = graph("t (float[N, 3] x, int64[2] i) => (float[N, 3] y, int64[2] j) { y = Relu(x) j = Neg(i) }")
    feeds = random_feeds(model)
    assert feeds["x"].shape == (2, 3)
    assert set(feeds["i"]) <= {0, 1}
    np.testing.assert_array_equal(random_feeds(model)["x"], feeds["x"])
    np.testing.assert_array_equal(run_model(model, feeds)["j"], -feeds["i"])


def test_opsets_are_those_that_run() -> None:
    assert {10, 11, 13, 15, 17, 18, 21} <= set(opsets())
    assert not runs("t (float[2] x) => (float[2] y) { y = NoSuchOperator(x) }", 17)


CONV = """t (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y) <float[1, 1, 1, 1] w = {1}, float[1] b = {0}> {
    y = Conv(x, w, b)
}"""


def test_a_plan_in_one_line() -> None:
    planned = plan(CONV, {"x": 5, "w": 7, "b": 9, "y": 4})
    assert planned.current() == {"x": 5, "w": 7, "b": 9, "y": 4}
    roles = [planned.tensors[name].role for name in "xwby"]
    assert roles == [Role.ACTIVATION, Role.WEIGHT, Role.BIAS, Role.ACTIVATION]


class Undocumented:
    """A plugin whose option says nothing."""

    @hookimpl
    def vitis_declare(self):
        class Group(OptionGroup):
            """Options."""

            level: int = option(1, "")

        yield Group


class WrongDefault(Undocumented):
    """A plugin whose default is not of the option's type."""

    @hookimpl
    def vitis_declare(self):
        class Group(OptionGroup):
            """Options."""

            level: int = option("high", "A level.")

        yield Group


class Empty:
    """A plugin that declares nothing."""

    @hookimpl
    def vitis_declare(self):
        return ()


def test_plugins_with_a_flaw() -> None:
    for plugin, message in ((Undocumented(), "no documentation"), (WrongDefault(), "takes int"), (Empty(), "nothing")):
        with pytest.raises(Exception, match=message):
            check_plugin(plugin)


def test_a_plugin_without() -> None:
    module = types.ModuleType("ort_vitis_good")
    module.vitis_declare = hookimpl(lambda: [nothing])  # type: ignore[attr-defined]
    assert check_plugin(module) == [nothing]


def test_the_bundled_preparation() -> None:
    import ort_vitis_prepare

    keys = {getattr(declaration, "key", None) for declaration in check_plugin(ort_vitis_prepare)}
    assert {"FoldBatchNorm", "FloatSpectrum", "CrossLayerEqualization", "ConvertNCHWToNHWC"} <= keys
