"""Where factors may move between layers and where not; what they do to the channels."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pluggy
import pytest
from onnx import ModelProto, numpy_helper

from ort_vitis_plugin.api import Declaration, Stage, hookimpl
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.request.call import Call
from ort_vitis_plugin.testing import check_transform, graph, opsets, plain_context
from ort_vitis_prepare.cle.equalize import equalize, iterate
from ort_vitis_prepare.cle.options import EqualizationOptions

OPSETS = opsets()


def asking(*, include_cle: bool = True, excluded: tuple[str, ...] = (), **options: Any) -> Call:
    """A call that asks for equalization."""
    return plain_context(nodes_to_exclude=excluded, IncludeCLE=include_cle, **options)


def skewed(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Weights whose channels differ by 100 times, along the first two axes."""
    generator = np.random.default_rng(seed)
    array = generator.standard_normal(shape)
    for axis in range(min(len(shape), 2)):
        factor = 10.0 ** generator.uniform(-1, 1, shape[axis])
        array = array * factor.reshape([-1 if at == axis else 1 for at in range(len(shape))])
    return array.astype(np.float32)


def network(
    body: str, opset: int = 17, size: str = "1, 4, 6, 6", outputs: str = "float[] y", **shapes: Any
) -> ModelProto:
    constants = {
        name: value if isinstance(value, np.ndarray) else skewed(value, seed)
        for seed, (name, value) in enumerate(shapes.items())
    }
    return graph(f"t (float[{size}] x) => ({outputs}) {{ {body} }}", opset, constants)


def array(model: ModelProto, name: str) -> np.ndarray:
    return next(numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name == name)


W = {"w": (5, 4, 3, 3), "b": (5,), "u": (3, 5, 3, 3)}

KEPT: dict[str, tuple[str, dict[str, Any]]] = {
    "the tensor has two readers": (
        "h = Conv(x, w, b) r = Relu(h) i = Conv(r, u) s = Sigmoid(r) j = Conv(s, v) y = Add(i, j)",
        {**W, "v": (3, 5, 3, 3)},
    ),
    "both inputs of one node": ("h = Conv(x, w, b) r = PRelu(h, h) y = Conv(r, u)", W),
    "Sigmoid": ("h = Conv(x, w, b) r = Sigmoid(h) y = Conv(r, u)", W),
    "HardSwish": ("h = Conv(x, w, b) r = HardSwish(h) y = Conv(r, u)", W),
    "Clip to 6": (
        "h = Conv(x, w, b) r = Clip(h, lo, hi) y = Conv(r, u)",
        {**W, "lo": np.array(0, np.float32), "hi": np.array(6, np.float32)},
    ),
    "Pad with 1": (
        "h = Conv(x, w, b) r = Pad(h, p, one) y = Conv(r, u)",
        {**W, "p": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "one": np.array(1, np.float32)},
    ),
    "Pad of channels": (
        "h = Conv(x, w, b) r = Pad(h, p) y = Conv(r, u)",
        {**W, "p": np.array([0, 1, 0, 0, 0, 0, 0, 0]), "u": (3, 6, 3, 3)},
    ),
    "Reshape to a computed shape": (
        "c = Cast<to = 7>(n) h = Conv(x, w, b) r = Reshape(h, c) y = Gemm(r, g)",
        {**W, "n": np.array([1, -1], np.int32), "g": (80, 3)},
    ),
    "Reshape to more than two axes": (
        "h = Conv(x, w, b) r = Reshape(h, s) y = Conv(r, u)",
        {**W, "s": np.array([1, 5, 4, 4])},
    ),
    "shared head weights": ("h = Conv(x, w, b) r = Relu(h) y = Conv(r, w)", {"w": (4, 4, 3, 3), "b": (4,)}),
    "computed weights": (
        "w = Abs(w0) h = Conv(x, w, b) r = Relu(h) y = Conv(r, u)",
        {"w0": (5, 4, 3, 3), "b": (5,), "u": (3, 5, 3, 3)},
    ),
    "computed bias": (
        "b = Abs(b0) h = Conv(x, w, b) r = Relu(h) y = Conv(r, u)",
        {"w": (5, 4, 3, 3), "b0": (5,), "u": (3, 5, 3, 3)},
    ),
    "Add of a constant": ("h = Conv(x, w, b) r = Add(h, one) y = Conv(r, u)", {**W, "one": np.array(1, np.float32)}),
    "mean over channels": ("h = Conv(x, w, b) r = ReduceMean<axes = [1]>(h) y = Conv(r, u)", {**W, "u": (3, 1, 3, 3)}),
    "MaxPool whose indices are read": (
        "h = Conv(x, w) r, i = MaxPool<kernel_shape = [2, 2]>(h) c = Cast<to = 1>(i) d = Conv(r, u) "
        "e = ReduceSum(c) y = Add(d, e)",
        W,
    ),
    "one layer": ("h = Conv(x, w, b) y = Relu(h)", W),
    "channels mixed by Reshape": (
        "h = Conv(x, w, b) r = Reshape(h, s) y = Gemm(r, g)",
        {**W, "s": np.array([4, -1]), "g": (20, 3)},
    ),
    "channels mixed by Reshape, the other side stated": (
        "h = Conv(x, w, b) r = Reshape(h, s) y = Gemm(r, g)",
        {**W, "s": np.array([-1, 20]), "g": (20, 3)},
    ),
    "Gemm that reads its input transposed": ("h = Gemm(x, w) y = Gemm<transA = 1>(h, g)", {"w": (4, 5), "g": (2, 3)}),
}


@pytest.mark.parametrize("case", KEPT)
def test_left_alone(case: str) -> None:
    body, shapes = KEPT[case]
    model = network(body, size="2, 4" if "transposed" in case else "1, 4, 6, 6", **shapes)
    result = check_transform(equalize, model, asking())
    assert list(result.graph.initializer) == [
        tensor for tensor in model.graph.initializer if tensor.name in {t.name for t in result.graph.initializer}
    ]


@pytest.mark.parametrize(
    ("known", "values", "pad"),
    [
        ("p", [2, 3], "a = Cast<to = 7>(n) r = Pad(h, p, , a)"),
        ("a", [1, 1, 1, 1], "p = Cast<to = 7>(n) r = Pad(h, p, , a)"),
    ],
    ids=["axes", "pads"],
)
def test_not_through_a_pad_of_which_something_is_computed(known: str, values: list[int], pad: str) -> None:
    body = f"h = Conv(x, w, b) {pad} y = Conv(r, u)"
    held = {"p": np.array([1, 1, 1, 1]), "a": np.array([2, 3])}
    shapes = {**W, known: held[known], "n": np.array(values, np.int32)}
    model = network(body, 18, outputs="float[1, 3, 4, 4] y", **shapes)
    assert equalize(Graph(model), asking()) == 0


def test_not_through_a_graph_output() -> None:
    outputs = "float[1, 5, 4, 4] r, float[1, 3, 2, 2] y"
    model = network("h = Conv(x, w, b) r = Relu(h) y = Conv(r, u)", outputs=outputs, **W)
    check_transform(equalize, model, asking())
    edited = Graph(model)
    assert equalize(edited, asking()) == 0
    assert "graph output" in edited.skips[0].reason


def test_weights_that_a_caller_may_replace_stay() -> None:
    model = network("h = Conv(x, w, b) r = Relu(h) y = Conv(r, u)", **W)
    model.graph.input.append(graph("t (float[5,4,3,3] w) => (float[5,4,3,3] y) { y = Relu(w) }").graph.input[0])
    edited = Graph(model)
    assert equalize(edited, asking()) == 0
    assert "not constant" in edited.skips[0].reason


def test_only_when_asked_for() -> None:
    assert equalize(Graph(network("h = Conv(x, w, b) y = Conv(h, u)", **W)), asking(include_cle=False)) == 0


def test_excluded_nodes_stay() -> None:
    model = network("h = Conv(x, w, b) y = Conv(h, u)", **W)
    for number, node in enumerate(model.graph.node):
        node.name = f"conv{number}"
    edited = Graph(model)
    assert equalize(edited, asking(excluded=("conv1",))) == 0
    assert "nodes_to_exclude" in edited.skips[0].reason


G = {"w": (5, 4, 3, 3), "b": (5,)}

MOVED: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("h = Conv(x, w, b) y = Conv(h, u)", W),
    "no bias": ("h = Conv(x, w) y = Conv(h, u)", W),
    "Relu": ("h = Conv(x, w, b) r = Relu(h) y = Conv(r, u)", W),
    "LeakyRelu": ("h = Conv(x, w, b) r = LeakyRelu(h) y = Conv(r, u)", W),
    "PRelu with a slope per channel": ("h = Conv(x, w, b) r = PRelu(h, a) y = Conv(r, u)", {**W, "a": (5, 1, 1)}),
    "Relu and MaxPool": ("h = Conv(x, w, b) r = Relu(h) p = MaxPool<kernel_shape = [2, 2]>(r) y = Conv(p, u)", W),
    "AveragePool": (
        "h = Conv(x, w, b) p = AveragePool<kernel_shape = [2, 2], pads = [1, 1, 1, 1]>(h) y = Conv(p, u)",
        W,
    ),
    "grouped tail": (
        "h = Conv(x, w, b) r = Relu(h) y = Conv<group = 2>(r, u)",
        {"w": (6, 4, 3, 3), "b": (6,), "u": (4, 3, 3, 3)},
    ),
    "grouped head": (
        "h = Conv<group = 2>(x, w, b) r = Relu(h) y = Conv(r, u)",
        {"w": (6, 2, 3, 3), "b": (6,), "u": (4, 6, 3, 3)},
    ),
    "depthwise tail": ("h = Conv(x, w, b) r = Relu(h) y = Conv<group = 5>(r, u)", {**G, "u": (5, 1, 3, 3)}),
    "depthwise head": (
        "h = Conv<group = 4>(x, w, b) r = Relu(h) y = Conv(r, u)",
        {"w": (4, 1, 3, 3), "b": (4,), "u": (3, 4, 3, 3)},
    ),
    "two channels of output for one of input": (
        "h = Conv<group = 4>(x, w, b) r = Relu(h) y = Conv<group = 8>(r, u)",
        {"w": (8, 1, 3, 3), "b": (8,), "u": (16, 1, 3, 3)},
    ),
    "depthwise triple": (
        "h = Conv(x, w, b) r = Relu(h) i = Conv<group = 5>(r, d, c) s = Relu(i) y = Conv(s, u)",
        {**G, "d": (5, 1, 3, 3), "c": (5,), "u": (3, 5, 1, 1)},
    ),
    "ConvTranspose": (
        "h = ConvTranspose(x, w, b) r = Relu(h) y = ConvTranspose(r, u)",
        {"w": (4, 5, 3, 3), "b": (5,), "u": (5, 3, 3, 3)},
    ),
    "grouped ConvTranspose": (
        "h = ConvTranspose<group = 2>(x, w, b) r = Relu(h) y = ConvTranspose<group = 2>(r, u)",
        {"w": (4, 3, 3, 3), "b": (6,), "u": (6, 2, 3, 3)},
    ),
    "Conv and Flatten and Gemm": ("h = Conv(x, w, b) f = Flatten(h) y = Gemm(f, g)", {**G, "g": (80, 3)}),
    "Flatten before Relu": (
        "h = Conv(x, w, b) f = Flatten(h) r = Relu(f) y = Gemm<transB = 1>(r, g)",
        {**G, "g": (3, 80)},
    ),
    "GlobalAveragePool and Flatten": (
        "h = Conv(x, w, b) p = GlobalAveragePool(h) f = Flatten<axis = -3>(p) y = Gemm(f, g)",
        {**G, "g": (5, 3)},
    ),
    "Reshape (0, -1)": (
        "h = Conv(x, w, b) f = Reshape(h, s) y = Gemm(f, g)",
        {**G, "s": np.array([0, -1]), "g": (80, 3)},
    ),
    "Reshape (1, -1) of batch 1": (
        "h = Conv(x, w, b) f = Reshape(h, s) y = Gemm(f, g)",
        {**G, "s": np.array([1, -1]), "g": (80, 3)},
    ),
    "Reshape (-1, 80)": (
        "h = Conv(x, w, b) f = Reshape(h, s) y = Gemm(f, g)",
        {**G, "s": np.array([-1, 80]), "g": (80, 3)},
    ),
    "shared bias": (
        "h = Conv(x, w, b) r = Relu(h) i = Conv(r, u, b) y = Relu(i)",
        {"w": (5, 4, 3, 3), "b": (5,), "u": (5, 5, 3, 3)},
    ),
}


@pytest.mark.parametrize("case", MOVED)
def test_same_function_with_equal_channels(case: str) -> None:
    body, shapes = MOVED[case]
    model = network(body, **shapes)
    result = check_transform(equalize, model, asking(CLESteps=-1, CLEScaleUseThreshold=False), tolerance=1e-4)
    assert array(result, "w").tolist() != array(model, "w").tolist()


@pytest.mark.parametrize("opset", OPSETS)
def test_every_opset(opset: int) -> None:
    p = "pads = [0, 0, 1, 1, 0, 0, 1, 1]"
    pad = f"q = Pad<{p}>(r)" if opset < 11 else "q = Pad(r, pads)"
    clip = "r = Clip<min = 0.0>(h)" if opset < 11 else "r = Clip(h, zero)"
    mean = "f = ReduceMean<axes = [2, 3], keepdims = 0>(i)" if opset < 18 else "f = ReduceMean<keepdims = 0>(i, axes)"
    constants = {
        "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
        "zero": np.array(0, np.float32),
        "axes": np.array([-1, -2]),
    }
    model = network(
        f"h = Conv(x, w, b) {clip} {pad} i = Conv(q, u) {mean} y = Gemm(f, g, k)",
        opset,
        **W,
        **constants,
        g=(3, 2),
        k=(2,),
    )
    result = check_transform(equalize, model, asking(CLESteps=-1, CLEScaleUseThreshold=False), tolerance=1e-4)
    assert array(result, "g").tolist() != array(model, "g").tolist()


@pytest.mark.parametrize("attributes", ["", "<transB = 1>", "<alpha = 0.5, beta = 2.0>", "<transA = 1>"])
def test_gemm_heads(attributes: str) -> None:
    shape = (5, 4) if "transB" in attributes else (4, 5)
    model = network(
        f"h = Gemm{attributes}(x, w, b) r = Relu(h) y = Gemm(r, g)",
        size="4, 2" if "transA" in attributes else "2, 4",
        w=shape,
        b=(1, 5),
        g=(5, 3),
    )
    check_transform(equalize, model, asking(CLESteps=-1, CLEScaleUseThreshold=False), tolerance=1e-4)
    assert equalize(Graph(model), asking()) == 1


def test_a_pair_meets_in_the_geometric_mean() -> None:
    w = np.zeros((2, 1, 1, 1), np.float32)
    u = np.zeros((1, 2, 1, 1), np.float32)
    w[:, 0, 0, 0], u[0, :, 0, 0] = (0.1, 4.0), (10.0, 1.0)
    result = check_transform(
        equalize,
        network("h = Conv(x, w) r = Relu(h) y = Conv(r, u)", size="1, 1, 3, 3", w=w, u=u),
        asking(),
        tolerance=1e-4,
    )
    np.testing.assert_allclose(array(result, "w").ravel(), [1.0, 2.0], rtol=1e-6)
    np.testing.assert_allclose(array(result, "u").ravel(), [1.0, 2.0], rtol=1e-6)


def test_a_triple_meets_in_one_sweep() -> None:
    w, d, u = (np.zeros(shape, np.float32) for shape in ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1)))
    w[:], d[:], u[:] = 16.0, 0.25, 2.0
    model = network(
        "h = Conv(x, w) r = Relu(h) i = Conv(r, d) s = Relu(i) y = Conv(s, u)", size="1, 1, 3, 3", w=w, d=d, u=u
    )
    result = check_transform(equalize, model, asking(), tolerance=1e-4)
    assert [float(array(result, name).item()) for name in "wdu"] == pytest.approx([2.0, 2.0, 2.0])


SMALL = {"w": np.full((2, 1, 1, 1), 0.001, np.float32), "u": np.full((1, 2, 1, 1), 0.1, np.float32)}
PAIR = "h = Conv(x, w) y = Conv(h, u)"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.001),
        ({"CLEWeightThreshold": 0.1}, 0.01),
        ({"CLEScaleUseThreshold": False}, 0.01),
    ],
    ids=["0.101 is below 0.5", "a lower threshold", "no threshold"],
)
def test_small_channels(options: dict[str, Any], expected: float) -> None:
    edited = Graph(network(PAIR, size="1, 1, 3, 3", **SMALL))
    equalize(edited, asking(**options))
    assert edited.array("w")[0] == pytest.approx(expected)  # type: ignore[index]


@pytest.mark.option("CLEScaleAppendBias")
def test_a_bias_counts_in_the_range() -> None:
    constants = {
        "w": np.ones((1, 1, 1, 1), np.float32),
        "b": np.array([8], np.float32),
        "u": np.ones((1, 1, 1, 1), np.float32),
    }
    model = network("h = Conv(x, w, b) y = Conv(h, u)", size="1, 1, 3, 3", **constants)
    with_bias, without = Graph(model), Graph(model)
    assert equalize(with_bias, asking()) == 1
    assert with_bias.array("w").item() == pytest.approx(0.5)  # type: ignore[union-attr]  # sqrt(1 / (8 / 2))
    assert equalize(without, asking(CLEScaleAppendBias=False)) == 0


@pytest.mark.parametrize("steps", [1, 5, 2**63 - 1])
def test_sweeps_end_where_nothing_changes(steps: int) -> None:
    assert iterate([], [], asking(CLESteps=steps).options[EqualizationOptions], {}) == 1


@pytest.mark.option("CLESteps")
def test_more_steps_settle_a_chain() -> None:
    body = "a = Conv(x, w) b = Relu(a) c = Conv(b, u) d = Relu(c) e = Conv(d, v) y = Relu(e)"
    model = network(body, w=(8, 4, 1, 1), u=(8, 8, 1, 1), v=(8, 8, 1, 1))

    def distance(steps: int) -> float:
        """How far the two ranges of each channel between layers are apart."""
        edited = Graph(model)
        equalize(edited, asking(CLESteps=steps, CLEScaleUseThreshold=False))
        w, u, v = (np.abs(edited.array(name)).reshape(8, -1) for name in "wuv")  # type: ignore[arg-type]
        ranges = [(w.max(1), u.max(0)), (u.max(1), v.max(0))]
        return max(float(np.abs(np.log(left / right)).max()) for left, right in ranges)

    assert distance(1) > distance(3) > distance(-1)
    assert distance(-1) < 1e-5


def test_the_report_says_what_was_done() -> None:
    asked = asking()
    equalize(Graph(network(PAIR, w=(5, 4, 3, 3), u=(3, 5, 3, 3))), asked)
    assert "1 pairs in 1 sweep" in asked.report.notes[0]


@pytest.mark.parametrize("first", ["ReplaceClip6Relu", "FoldBatchNorm", "ConvertBNToConv"])
def test_it_waits_for_steps_that_make_layers_meet(plugins: pluggy.PluginManager, first: str) -> None:
    """Also where a plugin declares it before them."""
    bundled = {step.key: step for step in Catalog(plugins).steps(Stage.PREPARE, ["ipu_cnn"])}

    class Reversed:
        @hookimpl
        def vitis_declare(self) -> Iterator[Declaration]:
            yield equalize
            yield bundled[first]

    for name in ("ort_vitis_prepare", "ort_vitis_ipu"):
        plugins.unregister(name=name)
    plugins.register(Reversed())
    order = [step.key for step in Catalog(plugins).steps(Stage.PREPARE, ["ipu_cnn"])]
    assert order == [first, "CrossLayerEqualization"]
