"""Pairs that the DPU computes as one operation, each judged on its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_ipu.fuse import FUSIONS
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.plugin.declarations import Fusion
from ort_vitis_plugin.testing import graph

PAIRS: dict[str, Fusion] = {pair.key: pair for pair in FUSIONS}
RELU, LEAKY, PRELU, PAD = "RemoveQDQConvRelu", "RemoveQDQConvLeakyRelu", "RemoveQDQConvPRelu", "FusePadPool"


def image(body: str, opset: int = 17, extra: str = "", outputs: str = "float[1, 1, N, M] y") -> ModelProto:
    head = f"t (float[1, 1, 4, 4] x, float[1, 1, 1, 1] w, int64[8] p, float s) => ({outputs})"
    return graph(f"{head} <float zero = {{0}}, float six = {{6}}, float one = {{1}} {extra}> {{ {body} }}", opset)


PRODUCERS = {
    "Conv": "t = Conv(x, w)",
    "ConvTranspose": "t = ConvTranspose(x, w)",
    "Add": "t = Add(x, x)",
    "MaxPool": "t = MaxPool<kernel_shape = [2, 2]>(x)",
    "AveragePool": "t = AveragePool<kernel_shape = [2, 2]>(x)",
    "GlobalAveragePool": "t = GlobalAveragePool(x)",
    "MatMul": "t = MatMul(x, x)",
}

FUSED = {
    **{f"{name} -> Relu": (RELU, image(f"{text} y = Relu(t)")) for name, text in PRODUCERS.items()},
    "Gemm -> Relu": (
        RELU,
        graph("t (float[2, 2] x, float[2, 2] w) => (float[2, 2] y) { t = Gemm(x, w) y = Relu(t) }"),
    ),
    "Clip with initializers": (RELU, image("t = Conv(x, w) y = Clip(t, zero, six)")),
    "Clip with attributes": (RELU, image("t = Conv(x, w) y = Clip<min = 0.0, max = 6.0>(t)", 10)),
    "Clip with Constant nodes": (
        RELU,
        image("a = Constant<value_float = 0.0>() b = Constant<value = float {6.0}>() t = Conv(x, w) y = Clip(t, a, b)"),
    ),
    "Clip within the tolerance": (
        RELU,
        image("t = Conv(x, w) y = Clip(t, lo, hi)", extra=", float lo = {0.0000005}, float hi = {6.0000005}"),
    ),
    "LeakyRelu": (LEAKY, image("t = Conv(x, w) y = LeakyRelu<alpha = 0.1>(t)")),
    "PRelu": (PRELU, image("t = Conv(x, w) y = PRelu(t, one)")),
    "Pad -> AveragePool": (PAD, image("t = Pad(x, p) y = AveragePool<kernel_shape = [2, 2]>(t)")),
    "Pad -> GlobalAveragePool": (PAD, image("t = Pad(x, p) y = GlobalAveragePool(t)")),
}

NOT_FUSED = {
    "somebody else reads it": (RELU, image("t = Conv(x, w) y = Relu(t) z = Abs(t)")),
    "it is a graph output": (
        RELU,
        image("t = Conv(x, w) y = Relu(t)", outputs="float[1, 1, 4, 4] y, float[1, 1, 4, 4] t"),
    ),
    "Clip(0, 1)": (RELU, image("t = Conv(x, w) y = Clip(t, zero, one)")),
    "Clip without maximum": (RELU, image("t = Conv(x, w) y = Clip(t, zero)")),
    "Clip without minimum": (RELU, image("t = Conv(x, w) y = Clip(t, , six)")),
    "Clip with a computed limit": (RELU, image("t = Conv(x, w) y = Clip(t, s, six)")),
    "Clip with the default attributes": (RELU, image("t = Conv(x, w) y = Clip(t)", 10)),
    "Relu behind Sub": (RELU, image("t = Sub(x, w) y = Relu(t)")),
    "PRelu reads it as slope": (PRELU, image("t = Conv(x, w) y = PRelu(x, t)")),
    "PRelu reads it twice": (PRELU, image("t = Conv(x, w) y = PRelu(t, t)")),
    "Pad -> MaxPool": (PAD, image("t = Pad(x, p) y = MaxPool<kernel_shape = [2, 2]>(t)")),
}


def fuses(pair: Fusion, edited: Graph, tensor: str = "t") -> bool:
    producer = edited.producer(tensor)
    assert producer is not None
    return any(
        producer.op_type in pair.producers
        and consumer.op_type in pair.consumers
        and pair.applies(edited, producer, consumer)
        for consumer in edited.consumers(edited.device_output.get(tensor, tensor))
    )


@pytest.mark.parametrize("case", NOT_FUSED)
def test_leaves_alone(case: str) -> None:
    key, model = NOT_FUSED[case]
    assert not fuses(PAIRS[key], Graph(model))


@pytest.mark.parametrize("case", FUSED)
def test_fuses(case: str) -> None:
    key, model = FUSED[case]
    assert fuses(PAIRS[key], Graph(model))


def test_one_branching_conv_changes_no_other_pair() -> None:
    edited = Graph(image("a = Conv(x, w) b = Relu(a) c = Abs(a) t = Conv(b, w) y = Relu(t)"))
    assert not fuses(PAIRS[RELU], edited, "a")
    assert fuses(PAIRS[RELU], edited)


def test_a_body_that_captures_the_tensor_reads_it() -> None:
    model = graph(
        """t (float[1, 1, 4, 4] x, float[1, 1, 1, 1] w, bool c) => (float[1, 1, 4, 4] y, float[1, 1, 4, 4] z)
        {
            t = Conv(x, w)
            y = Relu(t)
            z = If(c) <
                then_branch = a () => (float[1, 1, 4, 4] u) { u = Abs(t) },
                else_branch = b () => (float[1, 1, 4, 4] v) { v = Neg(x) }
            >
        }"""
    )
    assert not fuses(PAIRS[RELU], Graph(model))


def test_fuses_behind_a_simulated_factor() -> None:
    edited = Graph(
        graph(
            """m (float[1, 1, 6, 6] x) => (float[1, 1, 4, 4] y)
            { t = AveragePool<kernel_shape = [3, 3]>(x) [t] u = Mul(t, f) y = Relu(u) }""",
            constants={"f": np.float32(0.984375)},
        )
    )
    edited.device_output["t"] = "u"
    edited.device_nodes.add("t")
    assert fuses(PAIRS[RELU], edited)


@pytest.mark.parametrize(("key", "default"), [(RELU, True), (LEAKY, False), (PRELU, False)])
def test_switch(key: str, default: bool) -> None:
    declared = PAIRS[key].option
    assert declared is not None
    assert declared.key == key
    assert declared.default is default
