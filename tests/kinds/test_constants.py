"""However a constant is written, it is stored as codes: weights in 8 bits, per channel where asked, biases in 32."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from .checks import S8S8, assert_close, constants_of, dequantizer, model, nodes, quantized, scale_of, stored, weights
from .graphs import CONSTANTS, SHARED

CONV_CONSTANTS = [name for name in CONSTANTS if "function" not in name and "Transpose" not in name.split(", ")[-1]]
BEFORE = ("DequantizeLinear by the exporter", "one quantized weight read by MatMul and Transpose")


@pytest.mark.parametrize("name", [name for name in CONSTANTS if name not in BEFORE])
def test_weights_and_biases_are_codes(name: str) -> None:
    result = quantized(CONSTANTS[name](), per_channel=True, **S8S8)
    for node in nodes(result, "Conv", "MatMul"):
        if "per channel" in name:
            continue  # another tool's codes stay as they are
        assert stored(result, node.input[1]).dtype == np.int8
        assert scale_of(result, node.input[1]).size > 1, "per_channel was ignored"
        if len(node.input) > 2:
            assert stored(result, node.input[2]).dtype == np.int32
    assert not nodes(result, "Constant")


def test_codes_of_another_tool_stay() -> None:
    source = CONSTANTS[BEFORE[0]]()
    result = quantized(source, extra_options={"AvoidSaturation": False})  # whatever this CPU can do
    np.testing.assert_array_equal(constants_of(result)["w0"], constants_of(source)["w0"])
    (node,) = (node for node in nodes(result, "DequantizeLinear") if node.input[0] == "w0")
    np.testing.assert_array_equal(constants_of(result)[node.input[1]], constants_of(source)["s"])


def test_constants_that_are_inputs_are_no_inputs_any_more() -> None:
    result = quantized(CONSTANTS["initializers listed as inputs"]())
    assert [value.name for value in result.model.graph.input] == ["x"]


def test_a_bias_under_two_scales_is_two_biases() -> None:
    source = SHARED["bias of two convs of far scales"]()
    result = quantized(source)
    first, second = nodes(result, "Conv")
    assert first.input[2] != second.input[2]
    for node in (first, second):
        x, w, b = (float(scale_of(result, name)) for name in node.input)
        assert b == pytest.approx(x * w, rel=1e-6)
    assert_close(source, result, 25)


def test_a_weight_under_two_axes_is_two_weights() -> None:
    source = SHARED["weight of Gemm with and without transB"]()
    result = quantized(source, per_channel=True, **S8S8)
    first, second = nodes(result, "Gemm")
    axes = [{a.name: a.i for a in dequantizer(result, node.input[1]).attribute}.get("axis") for node in (first, second)]
    assert axes == [0, 1]
    assert_close(source, result, 20)


def test_a_weight_with_one_reader_left_float_is_float_there() -> None:
    source = model(
        "t (float[8, 8] x) => (float[8, 8] y) { [a] h = MatMul(x, w) [b] y = MatMul(h, w) }", {"w": weights(1, 8, 8)}
    )
    result = quantized(source, nodes_to_exclude=["b"])
    first, second = nodes(result, "MatMul")
    assert stored(result, first.input[1]).dtype == np.int8
    assert second.input[1] == "w"
    assert_close(source, result, 25)


@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_channels_of_convolutions(kind: str, group: int, rank: int) -> None:
    """Conv has w[out, in / group, ...], ConvTranspose w[in, out / group, ...]; the bias has all outputs."""
    size, kernel = [5] * rank, [3] * rank
    shape = (8, 4 // group, *kernel) if kind == "Conv" else (4, 8 // group, *kernel)
    ends = ", ".join(map(str, size))
    out = ", ".join(["3" if kind == "Conv" else "7"] * rank)
    source = model(
        f"t (float[1, 4, {ends}] x) => (float[1, 8, {out}] y) {{ y = {kind}<group = {group}>(x, w, b) }}",
        {"w": weights(1, *shape), "b": weights(2, 8)},
    )
    result = quantized(source, per_channel=True, **S8S8)
    (node,) = nodes(result, kind)
    assert scale_of(result, node.input[1]).size == (8 if kind == "Conv" else 8 // group)
    assert scale_of(result, node.input[2]).size == 8
    assert_close(source, result, 30)


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("columns", [1, 6])
@pytest.mark.parametrize("per_channel", [False, True])
def test_biases_of_a_gemm_broadcast(rank: int, rows: int, columns: int, per_channel: bool) -> None:
    shape = ((), (columns,), (rows, columns))[rank]
    source = model(
        "t (float[2, 8] x) => (float[2, 6] y) { y = Gemm<beta = 0.5>(x, w, b) }",
        {"w": weights(1, 8, 6), "b": weights(2, *shape, scale=2)},
    )
    result = quantized(source, per_channel=per_channel, **S8S8)
    assert_close(source, result, 30)


def test_what_has_a_pair_gets_no_second_one() -> None:
    """A model of which one half was quantized by another tool."""
    source = model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 2, 2] y)
        { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) wd = DequantizeLinear(w, s, z)
          h = Conv(xd, wd) hq = QuantizeLinear(h, t, z) hd = DequantizeLinear(hq, t, z) y = Conv(hd, v) }""",
        {
            "w": (weights(1, 4, 3, 3, 3) * 100).astype(np.int8),
            "v": weights(2, 4, 4, 3, 3),
            "s": 0.01,
            "t": 0.05,
            "z": np.int8(0),
        },
    )
    result = quantized(source, extra_options={"QuantizeQuantized": True}, **S8S8)
    quantizers = {node.input[0]: node for node in nodes(result, "QuantizeLinear")}
    assert not {"xd", "hd"} & quantizers.keys()
    assert [node.input[0] for node in nodes(result, "QuantizeLinear")].count("h") == 1
    first, second = nodes(result, "Conv")
    assert (first.input[0], second.input[0]) == ("xd", "hd")
    assert_close(source, result, 25)


@pytest.mark.parametrize(
    "text",
    [
        "t (float[2, 8] x) => (float[2, 8] y) { y = LayerNormalization(x, w, b) }",
        "t (float[2, 8] x) => (float[2] y) { y = MatMul(x, w) }",
        "t (float[2, 8] x) => (float[2, 8] y) { y = Mul(x, w) }",
    ],
)
def test_a_vector_has_one_scale_and_nobody_is_warned(text: str, caplog: pytest.LogCaptureFixture) -> None:
    source = model(text, {"w": weights(1, 8), "b": weights(2, 8)})
    result = quantized(source, per_channel=True, **S8S8)
    (node,) = nodes(result, "LayerNormalization", "MatMul", "Mul")
    assert scale_of(result, node.input[1]).size == 1
    assert not caplog.records
    assert_close(source, result, 25)
