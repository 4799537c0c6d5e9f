"""A group holds all layers that one factor concerns, and the network computes the same with any factor."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph, plain_context, run_model
from ort_vitis_prepare.cle.scale_groups import ScaleGroup, scale_groups

RESIDUAL = (
    "a = Conv(x, w0, b0) r = Relu(a) c = Conv<pads = [1, 1, 1, 1]>(r, w1, b1) s = Add(r, c) q = Relu(s) d = Conv(q, w2)"
    " e = Relu(d) p = Conv<group = 8>(e, w3) g = GlobalAveragePool(p) f = Flatten(g) y = Gemm<transB = 1>(f, w4, b4)"
)
SHAPES = {
    "w0": (4, 3, 1, 1),
    "b0": (4,),
    "w1": (4, 4, 3, 3),
    "b1": (4,),
    "w2": (8, 4, 1, 1),
    "w3": (8, 1, 3, 3),
    "w4": (5, 8),
    "b4": (5,),
}


def network(body: str = RESIDUAL, y: str = "1, 5", **constants: NDArray[np.float32]) -> ModelProto:
    draw = np.random.default_rng(0)
    all_constants = {name: draw.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
    used = {name: array for name, array in {**all_constants, **constants}.items() if f"{name}" in body}
    return graph(f"t (float[1, 3, 6, 6] x) => (float[{y}] y) {{ {body} }}", constants=used)


def groups_of(model: ModelProto) -> tuple[Graph, list[ScaleGroup]]:
    edited = Graph(model)
    return edited, scale_groups(edited, plain_context())


def ends(group: ScaleGroup) -> tuple[set[str], set[str]]:
    return {head.node.output[0] for head in group.heads}, {tail.node.output[0] for tail in group.tails}


def test_addends_share_a_factor_with_all_that_read_their_sum() -> None:
    _, found = groups_of(network())
    assert [ends(group) for group in found] == [({"a", "c"}, {"c", "d"}), ({"d"}, {"p"}), ({"p"}, {"y"})]


def test_any_factor_leaves_the_network_as_it_was() -> None:
    model, draw = network(), np.random.default_rng(1)
    edited, found = groups_of(model)
    for group in found:
        group.multiply(2.0 ** draw.uniform(-3, 3, len(group.scale)))
    for layer in {id(layer): layer for group in found for layer in (*group.heads, *group.tails)}.values():
        layer.write(edited)
    x = {"x": draw.normal(size=(1, 3, 6, 6)).astype(np.float32)}
    np.testing.assert_allclose(run_model(edited.to_model(), x)["y"], run_model(model, x)["y"], rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize(
    "body",
    [
        "a = Conv(x, w0, b0) s = Sigmoid(a) y = Conv(s, w1, b1)",
        "a = Conv(x, w0, b0) k = Add(a, b) y = Conv(k, w1, b1)",  # the constant would have to be scaled too
        "a = Conv(x, w0, b0) m = Mul(a, a) s = Add(a, m) y = Conv(s, w1, b1)",
        "a = Conv(x, w0, b0) s = Add(a, x1) y = Conv(s, w1, b1)",  # one value for all channels
    ],
)
def test_what_acts_on_a_factor_ends_a_group(body: str) -> None:
    more = {"b": np.ones((1, 4, 1, 1), np.float32)}
    if "x1" in body:
        body = f"x1 = ReduceMean<axes = [1]>(x) {body}"
    _, found = groups_of(network(body, "1, 4, 4, 4", **more))
    assert not found


def test_an_output_of_the_graph_keeps_its_values() -> None:
    model = network()
    model.graph.output.append(type(model.graph.output[0])(name="s"))
    _, found = groups_of(model)
    assert [ends(group)[0] for group in found] == [{"d"}, {"p"}]
