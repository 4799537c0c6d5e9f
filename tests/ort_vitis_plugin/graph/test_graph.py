"""The index follows every edit, and the model that comes out is sorted and lean."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.graph import Graph, attribute, captured_names
from ort_vitis_plugin.testing import op_types, random_feeds, run_model

Build = Callable[..., onnx.ModelProto]

CHAIN = "t (float[1, 3] x) => (float[1, 3] y) { a = Relu(x) b = Identity(a) y = Neg(b) }"
BODY = """t (float[1, 3] x, bool c) => (float[1, 3] y) {
    a = Relu(x)
    y = If(c) <
        then_branch = then () => (float[1, 3] p) { p = Neg(a) },
        else_branch = otherwise () => (float[1, 3] q) { q = Identity(a) }
    >
}"""


def check_index(graph: Graph) -> None:
    """Producers and consumers are what a walk over the nodes finds."""
    producers = {tensor: id(node) for node in graph for tensor in node.output if tensor}
    assert {t: id(n) for t in producers if (n := graph.producer(t)) is not None} == producers
    readers: dict[str, set[int]] = {}
    for node in graph:
        for tensor in {*node.input, *captured_names(node)} - {""}:
            readers.setdefault(tensor, set()).add(id(node))
    for tensor in {*producers, *readers, *graph.inputs, *graph.initializers}:
        assert {id(node) for node in graph.consumers(tensor)} == readers.get(tensor, set()), tensor


def test_callers_model_is_copied(graph: Build) -> None:
    model = graph(CHAIN)
    before = model.SerializeToString()
    edited = Graph(model)
    edited.remove(next(edited.of_type("Neg")))
    edited.to_model()
    assert model.SerializeToString() == before


def test_look_ups(graph: Build) -> None:
    found = Graph(graph(CHAIN, constants={"unused": np.zeros(3, np.float32)}))
    relu = next(found.of_type("Relu"))
    assert found.producer("a") is relu
    assert found.producer("x") is None
    assert [node.op_type for node in found.consumers("a")] == ["Identity"]
    assert found.sole_consumer("a") is next(found.of_type("Identity"))
    assert found.sole_consumer("y") is None
    assert found.static_shape("x") == (1, 3)
    assert found.element_type("x") == onnx.TensorProto.FLOAT
    assert found.is_constant("unused")
    assert found.opset == 17


def test_a_tensor_read_twice_by_one_node_has_no_sole_consumer(graph: Build) -> None:
    found = Graph(graph("t (float[1, 3] x) => (float[1, 3] y) { a = Relu(x) y = Add(a, a) }"))
    assert found.sole_consumer("a") is None


def test_graph_outputs_have_no_sole_consumer(graph: Build) -> None:
    found = Graph(graph("t (float[1, 3] x) => (float[1, 3] a, float[1, 3] y) { a = Relu(x) y = Neg(a) }"))
    assert found.sole_consumer("a") is None


def test_bodies_count_as_readers(graph: Build) -> None:
    found = Graph(graph(BODY))
    assert [node.op_type for node in found.consumers("a")] == ["If"]
    assert found.sole_consumer("a") is None
    check_index(found)


def test_replace_uses_reaches_bodies(graph: Build) -> None:
    model = graph(BODY)
    edited = Graph(model)
    edited.make("Abs", ["x"], ["b"])
    edited.replace_uses("a", "b")
    check_index(edited)
    assert edited.consumers("a") == []
    result = edited.to_model()
    onnx.checker.check_model(result, full_check=True)
    feeds = {"x": np.array([[-1, 2, -3]], np.float32), "c": np.array(True)}
    np.testing.assert_array_equal(run_model(result, feeds)["y"], [[-1, -2, -3]])


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (CHAIN, ["Relu", "Neg"]),
        ("t (float[1, 3] x) => (float[1, 3] y) { a = Relu(x) y = Identity(a) }", ["Relu"]),
        ("t (float[1, 3] x) => (float[1, 3] y) { y = Identity(x) }", ["Identity"]),
        (
            "t (float[1, 3] x) => (float[1, 3] a, float[1, 3] y) { a = Relu(x) y = Identity(a) }",
            ["Relu", "Identity"],
        ),
        (
            "t (float[1, 3] x) => (float[1, 3] y, float[1, 3] z) { a = Relu(x) y = Identity(a) z = Neg(a) }",
            ["Relu", "Neg"],
        ),
    ],
)
def test_bypass_keeps_outputs(graph: Build, text: str, after: list[str]) -> None:
    model = graph(text)
    edited = Graph(model)
    edited.bypass(next(edited.of_type("Identity")))
    check_index(edited)
    result = edited.to_model()
    assert op_types(result) == after
    feeds = random_feeds(model)
    for name, expected in run_model(model, feeds).items():
        np.testing.assert_array_equal(run_model(result, feeds)[name], expected)


def test_names_stay_unique(graph: Build) -> None:
    edited = Graph(graph(CHAIN))
    assert [edited.unique("a"), edited.unique("a"), edited.unique("new")] == ["a_1", "a_2", "new"]
    assert edited.add_initializer("x", np.zeros(3, np.float32)) == "x_1"
    names = {edited.make("Relu", ["x"], [edited.unique("r")], "n").name for _ in range(3)}
    assert names == {"n", "n_1", "n_2"}


def test_written_model_is_sorted_and_drops_what_nobody_reads(graph: Build) -> None:
    edited = Graph(graph(CHAIN, constants={"unused": np.zeros(3, np.float32)}))
    relu = next(edited.of_type("Relu"))
    edited.make("Abs", ["x"], ["first"])
    edited.set_inputs(relu, ["first"])
    result = edited.to_model()
    assert op_types(result) == ["Abs", "Relu", "Identity", "Neg"]
    assert list(result.graph.initializer) == []
    onnx.checker.check_model(result, full_check=True)


def test_a_cycle_is_an_error(graph: Build) -> None:
    edited = Graph(graph(CHAIN))
    edited.set_inputs(next(edited.of_type("Relu")), ["b"])
    with pytest.raises(ValueError, match="cycle"):
        edited.to_model()


def test_constant_values(graph: Build) -> None:
    text = "t (float[3] x) => (float[3] y) { c = Constant<value_floats = [1.0, 2.0, 3.0]>() y = Add(x, c) }"
    found = Graph(graph(text))
    array = found.array("c")
    assert array is not None
    assert array.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 5
    assert found.array("x") is None


def test_attributes_have_the_default_of_the_caller() -> None:
    node = onnx.helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.5)
    assert attribute(node, "alpha", 0.01) == 0.5
    assert attribute(node, "beta", 7) == 7


def test_index_after_random_edits(graph: Build) -> None:
    """Two hundred random edits leave the index as a walk over the nodes would build it."""
    rng = random.Random(0)
    edited = Graph(graph(CHAIN))
    for number in range(200):
        nodes = list(edited)
        tensors = ["x", *(tensor for node in nodes for tensor in node.output)]
        choice = rng.randrange(4)
        if choice == 0 or len(nodes) < 3:
            edited.make("Add", rng.choices(tensors, k=2), [f"t{number}"])
        elif choice == 1:
            node = rng.choice(nodes)
            edited.set_inputs(node, rng.choices(tensors, k=len(node.input)))
        elif choice == 2:
            edited.remove(rng.choice(nodes))
        else:
            edited.replace_uses(rng.choice(tensors), rng.choice(tensors))
        check_index(edited)


def test_edits_take_time_linear_in_their_number(graph: Build) -> None:
    """4,000 bypasses cost at most 8 times what 1,000 do."""
    import time

    def seconds(count: int) -> float:
        nodes = [onnx.helper.make_node("Identity", [f"t{i}"], [f"t{i + 1}"], f"n{i}") for i in range(count)]
        nodes.append(onnx.helper.make_node("Relu", [f"t{count}"], ["y"], "last"))
        value = onnx.helper.make_tensor_value_info
        inputs, outputs = [value("t0", 1, [3])], [value("y", 1, [3])]
        model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "t", inputs, outputs))
        start = time.process_time()
        edited = Graph(model)
        for node in list(edited.of_type("Identity")):
            edited.bypass(node)
        assert op_types(edited.to_model()) == ["Relu"]
        return time.process_time() - start

    seconds(100)
    assert min(seconds(4000) for _ in range(3)) < 8 * min(seconds(1000) for _ in range(3)) + 0.05


def test_an_output_computed_twice_is_an_error(graph: Build) -> None:
    model = graph("t (float[2] x) => (float[2] y) { h = Neg(x) y = Relu(h) }")
    model.graph.node[1].output[0] = "h"
    with pytest.raises(ModelError, match="computes 'h' twice"):
        Graph(model)


EDITS: dict[str, Callable[[Graph], object]] = {
    "add": lambda edited: edited.make("Abs", ["x"], ["new"]),
    "remove": lambda edited: edited.remove(next(iter(edited))),
    "set_inputs": lambda edited: edited.set_inputs(next(iter(edited)), ["z"]),
    "set_outputs": lambda edited: edited.set_outputs(next(iter(edited)), ["other"]),
    "replace_uses": lambda edited: edited.replace_uses("a", "x"),
    "rename_tensor": lambda edited: edited.rename_tensor("a", "new"),
    "redirect": lambda edited: edited.redirect(list(edited)[1], "a", "x"),
    "reload": lambda edited: edited.reload(edited.write_back()),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("text", [CHAIN, BODY], ids=["chain", "bodies"])
def test_the_order_follows_every_edit(graph: Build, text: str, edit: str) -> None:
    edited = Graph(graph(text))
    edited.sorted().clear()  # a list of the caller's own
    EDITS[edit](edited)
    remembered = [node.name for node in edited.sorted()]
    edited._order = None
    assert [node.name for node in edited.sorted()] == remembered
    assert sorted(map(id, edited.sorted())) == sorted(edited.nodes)


def test_a_shape_tells_numbers_names_and_what_is_unknown() -> None:
    model = onnx.ModelProto()
    for name, shape in (("known", (2, 0)), ("open", ("n", None, 3)), ("scalar", ()), ("any", None)):
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
    model.graph.input.append(onnx.ValueInfoProto(name="untyped"))
    found = Graph(model)
    shapes = {name: found.shape(name) for name in ("known", "open", "scalar", "any", "untyped", "absent")}
    assert shapes == {
        "known": (2, 0),
        "open": ("n", None, 3),
        "scalar": (),
        "any": None,
        "untyped": None,
        "absent": None,
    }
    assert [found.element_type(name) for name in ("known", "untyped", "absent")] == [onnx.TensorProto.FLOAT, 0, 0]
