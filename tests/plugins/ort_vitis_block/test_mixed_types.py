"""Parts of one model compute in types of their own, with a pair only where a type is read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from ort_vitis_plugin import VitisQuantFormat, quantize_static
from ort_vitis_plugin.errors import OptionTypeError, UnknownNameError, UnsupportedError
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import LEVELS, graph, run_model

RNG = np.random.default_rng(3)
TEXT = """
t (float[2, 3, 8, 8] x) => (float[2, 10] y) {
  [stem] c = Conv<pads = [1, 1, 1, 1]>(x, w, b)
  [clamp] r = Relu(c)
  [pool] p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)
  [second] d = Conv(p, v)
  [flat] f = Flatten(d)
  [norm] n = LayerNormalization(f, g)
  [head] y = MatMul(n, u)
}
"""
SHAPES: dict[str, Any] = {"w": (8, 3, 3, 3), "b": (8,), "v": (8, 8, 3, 3), "g": (32,), "u": (32, 10)}
MODEL = graph(TEXT, 17, {name: RNG.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()})
FEEDS = [{"x": RNG.normal(size=(2, 3, 8, 8)).astype(np.float32)} for _ in range(2)]


def quantized(mixed: Any, kind: str = "QBFP16", **more: Any) -> Any:
    return quantize_static(
        MODEL,
        None,
        FEEDS,
        quant_format=VitisQuantFormat.BFPFixNeuron,
        activation_type=kind,
        weight_type=kind,
        extra_options={"MixedTypes": mixed, **more},
    )


def kinds_read(model: onnx.ModelProto) -> dict[str, list[str]]:
    """What stands before each input of the products and norms: the op type of a pair's end."""
    made = {name: node.op_type for node in model.graph.node for name in node.output}
    return {
        node.name: [made.get(name, "float") for name in node.input]
        for node in model.graph.node
        if node.op_type in ("Conv", "MatMul", "LayerNormalization", "MaxPool", "Flatten")
    }


@pytest.mark.parametrize("mixed", [{"Conv": "QInt8"}, {"op:Conv": "QInt8"}, {"stem": "QInt8", "second": "QInt8"}])
def test_convolutions_in_integers_the_rest_in_blocks(mixed: dict[str, str]) -> None:
    result = quantized(mixed, "QBFP16")
    dequantize, block = "DequantizeLinear", "BFPFixNeuron"
    assert kinds_read(result.model) == {
        "stem": [dequantize] * 3,
        "pool": [dequantize],
        "second": [dequantize] * 2,
        "flat": [dequantize],
        "norm": [block, block],
        "head": [block, block],
    }
    exact = run_model(MODEL, FEEDS[0], LEVELS[0])["y"]
    for level in LEVELS:
        assert sqnr_db(exact, run_model(result.model, FEEDS[0], level)["y"]) > 25
    assert result.report.types["f"] == "QInt8"
    assert result.report.types["n"] == "QBFP16"


@pytest.mark.parametrize(
    ("mixed", "head"),
    [
        ({"MatMul": "QMX9", "h*": "QMX6"}, "QMX6"),
        ({"h*": "QMX6", "MatMul": "QMX9"}, "QMX6"),
        ({"head": "QMX4", "h*": "QMX6"}, "QMX4"),
        ({"h*": "QMX6", "he*": "QMX9"}, "QMX9"),
        ({"MatMul": {"weight_type": "QMX9"}}, "QMX9"),
    ],
)
def test_names_win_over_patterns_and_these_over_op_types(mixed: dict[str, Any], head: str) -> None:
    assert quantized(mixed).report.types["u"] == head


def test_a_weight_type_alone_leaves_the_data() -> None:
    types = quantized({"MatMul": {"weight_type": "QMX9"}}).report.types
    assert (types["n"], types["u"]) == ("QBFP16", "QMX9")


def test_the_npu_rules_hold_among_its_integers() -> None:
    result = quantized({"LayerNormalization": "QBFloat16", "MatMul": "QBFP16"}, "QInt8", Target="ipu_cnn")
    read = kinds_read(result.model)
    assert read["head"] == ["BFPFixNeuron", "BFPFixNeuron"]
    assert read["stem"][:2] == ["DequantizeLinear"] * 2
    scales = {t.name: onnx.numpy_helper.to_array(t) for t in result.model.graph.initializer}
    steps = [float(scales[name]) for name in ("x_scale", "w_scale", "v_scale")]
    assert all(np.log2(step) == round(np.log2(step)) for step in steps)


@pytest.mark.parametrize(
    ("mixed", "error", "message"),
    [
        ({"haed": "QBFP16"}, UnknownNameError, "'haed' is no node or op type of the model; did you mean head"),
        ({"x*": "QBFP16"}, UnknownNameError, r"the pattern 'x\*' hits no node"),
        ({"Conv": "QBFP61"}, UnsupportedError, r"MixedTypes\['Conv'\]: 'QBFP61' is not a quantization type"),
        ({"Conv": "QMXINT8"}, UnsupportedError, r"MixedTypes\['Conv'\]=QMXINT8 cannot be written as .*BFPFixNeuron"),
        ({"Conv": {"type": "QBFP16"}}, OptionTypeError, "it takes a type, or"),
    ],
)
def test_mistakes_are_named(mixed: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        quantized(mixed)
