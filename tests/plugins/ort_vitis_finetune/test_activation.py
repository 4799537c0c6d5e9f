"""What others read of a layer is found behind its activation, however that is written, and not past what mixes it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort
import pytest

from ort_vitis_finetune.activation import activation_of, read_of
from ort_vitis_plugin.api import Graph
from ort_vitis_plugin.testing import graph, run_model

if TYPE_CHECKING:
    from onnx import ModelProto

READ = {
    "Relu": ("z = Relu(y)  o = MatMul(z, w)", "z"),
    "SiLU": ("s = Sigmoid(y)  z = Mul(y, s)  o = MatMul(z, w)", "z"),
    "SiLU, the other way": ("s = Sigmoid(y)  z = Mul(s, y)  o = MatMul(z, w)", "z"),
    "HardSwish, written out": (
        "a = Add(y, three)  c = Clip(a)  m = Mul(y, c)  z = Div(m, three)  o = MatMul(z, w)",
        "z",
    ),
    "one reader of the layer itself": ("r = Relu(y)  z = MatMul(r, w)  o = Add(z, y)", "y"),
    "a sum of two": ("z = Add(y, x)  o = MatMul(z, w)", "y"),
    "a gate": ("s = Sigmoid(y)  z = Mul(s, x)  o = MatMul(z, w)", "y"),
    "a bounded output": ("o = Sigmoid(y)", "y"),
    "an output": ("o = Relu(y)", "o"),
    "nothing": ("o = MatMul(y, w)", "y"),
}


def network(body: str) -> ModelProto:
    constants = {"w": np.eye(4, dtype=np.float32), "three": np.float32(3)}
    return graph(f"t (float[2, 4] x) => (float[2, 4] o) {{ y = MatMul(x, w)  {body} }}", constants=constants)


def opened(model: ModelProto) -> ort.InferenceSession:
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(("body", "read"), READ.values(), ids=READ)
def test_what_others_read(body: str, read: str) -> None:
    assert read_of(Graph(network(body)), "y") == read


@pytest.mark.parametrize("kind", ["Relu", "SiLU", "HardSwish, written out"])
def test_an_activation_gives_what_the_network_gives(kind: str) -> None:
    model = network(READ[kind][0])
    activation = activation_of(Graph(model), "y", "z", -1, opened)
    assert activation is not None
    x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)  # y is the same, and so is o what z is
    np.testing.assert_allclose(activation(x), run_model(model, {"x": x})["o"], rtol=1e-6)


@pytest.mark.parametrize(("shape", "fits"), [((4,), True), ((1, 4), True), ((2, 1), False), ((2, 4), False)])
def test_constants_may_differ_from_channel_to_channel_alone(shape: tuple[int, ...], fits: bool) -> None:
    model = graph(
        "t (float[2, 4] x) => (float[2, 4] o) { y = MatMul(x, w)  z = Mul(y, c)  o = MatMul(z, w) }",
        constants={"w": np.eye(4, dtype=np.float32), "c": np.ones(shape, np.float32)},
    )
    assert (activation_of(Graph(model), "y", "z", -1, opened) is not None) == fits


def test_what_is_computed_of_others_too_is_no_activation() -> None:
    assert activation_of(Graph(network("z = Add(y, x)  o = MatMul(z, w)")), "y", "z", -1, opened) is None


PAIR = "q = QuantizeLinear(y, step, zero)  d = DequantizeLinear(q, step, zero)  o = MatMul(d, w)"


@pytest.mark.parametrize("readers", [1, 2])
def test_a_pair_may_clamp_in_place_of_a_relu(readers: int) -> None:
    """The Relu is gone: what it gave is what the layer gives, and rounding keeps it above 0."""
    more = "  e = DequantizeLinear(q, step, zero)  n = Neg(e)" if readers == 2 else ""
    constants = {"w": np.eye(4, dtype=np.float32), "step": np.float32(0.5), "zero": np.uint8(0)}
    model = graph(f"t (float[2, 4] x) => (float[2, 4] o) {{ y = MatMul(x, w)  {PAIR}{more} }}", constants=constants)
    activation = activation_of(Graph(model), "y", "y", -1, opened)
    assert activation is not None
    np.testing.assert_array_equal(activation(np.float32([[-3.0, 0.2, 1.0, 1.3]])), np.float32([[0.0, 0.0, 1.0, 1.5]]))


def test_where_nothing_lies_between_there_is_no_activation() -> None:
    assert activation_of(Graph(network("o = MatMul(y, w)")), "y", "y", -1, opened) is None
