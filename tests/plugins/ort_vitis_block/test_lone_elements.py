"""Elements that would be alone in their blocks are bfloat16s, unless a reader sums over blocks of them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto

from ort_vitis_block import BLOCK_TYPES
from ort_vitis_block.lone_elements import is_alone
from ort_vitis_block.quantized_types import TYPES
from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import Graph
from ort_vitis_plugin.testing import LEVELS, graph, run_model

KINDS = {declared.kind.name: declared.kind for declared in TYPES}
RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 1, 3, 3)).astype(np.float32)
FEEDS = [{"x": RNG.normal(size=(2, 1, 6, 6)).astype(np.float32)}]

# An image of one channel is upsampled, and its sharper version, made by a product, is added.
SKIP = """
t (float[2,1,6,6] x) => (float[2,1,12,12] y) <float[4] f = {1, 1, 2, 2}> {
  r = Resize<mode = "nearest">(x, , f)
  h = Conv<pads = [1, 1, 1, 1]>(x, w)
  d = DepthToSpace<blocksize = 2>(h)
  y = Add(r, d)
}
"""


def skip() -> ModelProto:
    return graph(SKIP, 17, {"w": W})


def quantized(preset: str, **options: object) -> ModelProto:
    model: ModelProto = quantize_static(skip(), None, FEEDS, extra_options={"Preset": preset, **options}).model
    onnx.checker.check_model(model, full_check=True)
    return model


def read_as(model: ModelProto) -> dict[str, str]:
    """The operator behind each tensor that is quantized."""
    ops = ("BFPFixNeuron", "MXFixNeuron", "VitisQuantizeLinear")
    return {node.input[0]: node.op_type for node in model.graph.node if node.op_type in ops}


@pytest.mark.parametrize(
    ("tensor", "kind", "alone"),
    [
        ("r", "QBFP16", True),
        ("r", "QMX9", True),
        ("r", "QMXINT8", True),
        ("r", "QMXFP8E4M3", True),
        ("r", "QMX6", False),  # 13 bits
        ("r", "QMXFP4", False),  # 12 bits
        ("x", "QBFP16", False),  # a Conv sums over its channel
        ("h", "QBFP16", False),  # four channels
        ("one", "QBFP16", False),  # passes as it is
        ("row", "QBFP16", False),
    ],
)
def test_who_is_alone(tensor: str, kind: str, alone: bool) -> None:
    model = skip()
    for name, shape in (("one", (1, 1)), ("row", (1,))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(shape, np.float32), name))
    assert is_alone(Graph(onnx.shape_inference.infer_shapes(model)), tensor, KINDS[kind]) == alone


@pytest.mark.parametrize(("preset", "op"), [("BFP16", "BFPFixNeuron"), ("MXINT8", "MXFixNeuron")])
def test_alone_is_bfloat16(preset: str, op: str) -> None:
    written = read_as(quantized(preset))
    assert written == {"x": op, "w": op, "h": op, "r": "VitisQuantizeLinear", "d": "VitisQuantizeLinear"}
    off = read_as(quantized(preset, LoneElementsAsBfloat16=False))
    assert set(off.values()) == {op}
    assert set(off) == set(written)


def test_the_caller_s_type_stays() -> None:
    asked: dict[str, Any] = {"r": [{"quant_type": "QBFP16"}]}
    written = read_as(quantized("BFP16", TensorQuantOverrides=asked))
    assert written["r"] == "BFPFixNeuron"
    assert written["d"] == "VitisQuantizeLinear"


def test_the_model_computes_what_numpy_computes() -> None:
    model = quantized("BFP16")
    block = BLOCK_TYPES["QBFP16"].quantize_dequantize
    x = block(FEEDS[0]["x"], 1)
    h = run_model(
        graph(
            "t (float[2,1,6,6] x) => (float[2,4,6,6] h) { h = Conv<pads = [1, 1, 1, 1]>(x, w) }", 17, {"w": block(W, 1)}
        ),
        {"x": x},
        LEVELS[0],
    )["h"]
    d = block(h, 1).reshape(2, 2, 2, 1, 6, 6).transpose(0, 3, 4, 1, 5, 2).reshape(2, 1, 12, 12)
    r = FEEDS[0]["x"].repeat(2, -1).repeat(2, -2)  # as it came: onnxruntime quantizes a Resize behind a pair only
    wanted = half(r) + half(d)
    for level in LEVELS:
        np.testing.assert_array_equal(run_model(model, FEEDS[0], level)["y"], wanted)


@pytest.mark.parametrize("kind", ["QBFP16", "QMX9", "QMXINT8"])
def test_bfloat16_is_nearer(kind: str) -> None:
    x = RNG.uniform(1, 2, (1000, 1)).astype(np.float32)
    errors = [np.abs(each / x - 1).max() for each in (half(x), BLOCK_TYPES[kind].quantize_dequantize(x, 1))]
    assert errors[0] <= 2**-8 < errors[1] <= 2**-6


def half(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)
