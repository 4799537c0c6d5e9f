"""One small graph for every operator type that onnxruntime quantizes, in the forms in which exporters write it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from tests.kinds.checks import model, weights

IMAGE = "float[1, 4, 8, 8] x"
ROWS = "float[4, 8] x"

HALVES = "kernel_shape = [2, 2], strides = [2, 2]"
CONV = "h = Conv<pads = [1, 1, 1, 1]>(x, w, b)"

# name -> (inputs, outputs, body)
OPERATORS: dict[str, tuple[str, str, str]] = {
    "Add": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} y = Add(h, x)"),
    "Add of a constant": (ROWS, "float[4, 8] y", "h = MatMul(x, m) y = Add(h, v)"),
    "ArgMax": (IMAGE, "int64[1, 1, 8, 8] y", f"{CONV} y = ArgMax<axis = 1>(h)"),
    "AveragePool": (IMAGE, "float[1, 4, 4, 4] y", f"{CONV} y = AveragePool<{HALVES}>(h)"),
    "BatchNormalization": (
        IMAGE,
        "float[1, 4, 8, 8] y",
        "h = Relu(x) y = BatchNormalization(h, gamma, beta, mean, var)",
    ),
    "Clip of limits": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} c = Clip(h, zero, six) y = Conv(c, p)"),
    "Clip without a maximum": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} c = Clip(h, zero) y = Conv(c, p)"),
    "Clip at the input": (IMAGE, "float[1, 4, 8, 8] y", "c = Clip(x, half) y = Conv<pads = [1, 1, 1, 1]>(c, w, b)"),
    "Concat": (IMAGE, "float[1, 8, 8, 8] y", f"{CONV} y = Concat<axis = 1>(h, x)"),
    "Concat of one tensor twice": (IMAGE, "float[1, 8, 8, 8] y", f"{CONV} r = Relu(h) y = Concat<axis = 1>(r, r)"),
    "Conv without a bias": (IMAGE, "float[1, 4, 6, 6] y", "y = Conv(x, w)"),
    "Conv with a bias": (IMAGE, "float[1, 4, 6, 6] y", "y = Conv(x, w, b)"),
    "Conv by channel": (IMAGE, "float[1, 4, 6, 6] y", "y = Conv<group = 4>(x, g, b)"),
    "Conv and Relu": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} r = Relu(h) y = Conv<pads = [1, 1, 1, 1]>(r, w)"),
    "Relu and Conv": (IMAGE, "float[1, 4, 6, 6] y", "r = Relu(x) y = Conv(r, w, b)"),
    "two Convs of one bias": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} y = Conv<pads = [1, 1, 1, 1]>(h, w, b)"),
    "ConvTranspose": (IMAGE, "float[1, 4, 10, 10] y", "y = ConvTranspose(x, w, b)"),
    "CumSum": (ROWS, "float[4, 8] y", "h = MatMul(x, m) y = CumSum(h, axis0)"),
    "Div": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} y = Div(h, six)"),
    "EmbedLayerNormalization": (
        "int32[1, 3] x, int32[1, 3] s",
        "float[1, 3, 8] y",
        "e, mask = com.microsoft.EmbedLayerNormalization(x, s, table, places, parts, g8, v) y = MatMul(e, m)",
    ),
    "Flatten": (IMAGE, "float[1, 256] y", f"{CONV} y = Flatten(h)"),
    "Gather of activations": (ROWS, "float[4, 2] y", "h = MatMul(x, m) y = Gather<axis = 1>(h, picks)"),
    "Gather of a table": ("int64[3] x", "float[3, 8] y", "y = Gather(m, x)"),
    "GatherElements": (ROWS, "float[1, 2] y", "h = MatMul(x, m) y = GatherElements<axis = 1>(h, pick2)"),
    "Gemm": (ROWS, "float[4, 8] y", "h = Gemm(x, m, v) r = Relu(h) y = Gemm(r, m, v)"),
    "Gemm without a bias": (ROWS, "float[4, 8] y", "y = Gemm(x, m)"),
    "Gemm of a transposed weight": (ROWS, "float[4, 8] y", "y = Gemm<transB = 1>(x, m, v)"),
    "Gemm of factors": (ROWS, "float[4, 8] y", "y = Gemm<alpha = 0.5, beta = 2.0>(x, m, v)"),
    "GlobalAveragePool": (IMAGE, "float[1, 4, 1, 1] y", f"{CONV} y = GlobalAveragePool(h)"),
    "InstanceNormalization": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} y = InstanceNormalization(h, gamma, beta)"),
    "LayerNormalization": (ROWS, "float[4, 8] y", "h = MatMul(x, m) y = LayerNormalization(h, g8, v)"),
    "LeakyRelu": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} y = LeakyRelu<alpha = 0.1>(h)"),
    "MatMul": (ROWS, "float[4, 8] y", "h = MatMul(x, m) y = MatMul(h, m)"),
    "MatMul of activations": (ROWS, "float[4, 4] y", "h = MatMul(x, m) t = Transpose(x) y = MatMul(h, t)"),
    "MatMul of a stack": ("float[2, 4, 8] x", "float[2, 4, 8] y", "y = MatMul(x, stack)"),
    "MaxPool": (IMAGE, "float[1, 4, 4, 4] y", f"{CONV} y = MaxPool<{HALVES}>(h)"),
    "Mul": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} y = Mul(h, x)"),
    "Pad by the edge": (IMAGE, "float[1, 4, 10, 10] y", f'{CONV} y = Pad<mode = "edge">(h, pads)'),
    "Pad by reflection": (IMAGE, "float[1, 4, 10, 10] y", f'{CONV} y = Pad<mode = "reflect">(h, pads)'),
    "Pad with zeros": (IMAGE, "float[1, 4, 10, 10] y", f"{CONV} y = Pad(h, pads)"),
    "Pad with a value": (IMAGE, "float[1, 4, 10, 10] y", f"{CONV} y = Pad(h, pads, half)"),
    "Pad with a value that is not named": (IMAGE, "float[1, 4, 10, 10] y", f'{CONV} y = Pad(h, pads, , axes4)'),
    "Pad with what is fed": (f"{IMAGE}, float[1] fill", "float[1, 4, 10, 10] y", f"{CONV} y = Pad(h, pads, fill)"),
    "Pad at the input": (IMAGE, "float[1, 4, 8, 8] y", "h = Pad(x, pads, half) y = Conv(h, w, b)"),
    "Pad alone": (IMAGE, "float[1, 4, 10, 10] y", "y = Pad(x, pads)"),
    "Relu": (ROWS, "float[4, 8] y", "h = Gemm(x, m, v) y = Relu(h)"),
    "Relu of the input": (IMAGE, "float[1, 4, 8, 8] y", "y = Relu(x)"),
    "Reshape": (IMAGE, "float[4, 64] y", f"{CONV} y = Reshape(h, shape)"),
    "Resize": (IMAGE, "float[1, 4, 16, 16] y", f'{CONV} y = Resize<mode = "nearest">(h, , twice)'),
    "Resize of an output": (
        IMAGE,
        "float[1, 4, 8, 8] h, float[1, 4, 16, 16] y",
        f'{CONV} y = Resize<mode = "nearest">(h, , twice)',
    ),
    "MaxPool of an output": (IMAGE, "float[1, 4, 8, 8] h, float[1, 4, 4, 4] y", f"{CONV} y = MaxPool<{HALVES}>(h)"),
    "Sigmoid": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} s = Sigmoid(h) y = Mul(s, h)"),
    "Slice": (IMAGE, "float[1, 2, 8, 8] y", f"{CONV} y = Slice(h, one, three, one)"),
    "Softmax": (ROWS, "float[4, 8] y", "h = MatMul(x, m) s = Softmax<axis = -1>(h) y = MatMul(s, m)"),
    "Split": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} a, c = Split<axis = 1>(h, halves) y = Concat<axis = 1>(c, a)"),
    "Squeeze and Unsqueeze": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} s = Squeeze(h, zeros) y = Unsqueeze(s, zeros)"),
    "Sub": (IMAGE, "float[1, 4, 8, 8] y", f"{CONV} y = Sub(h, x)"),
    "TopK": (ROWS, "float[4, 3] y", "h = MatMul(x, m) y, i = TopK(h, k)"),
    "Transpose": (IMAGE, "float[1, 8, 8, 4] y", f"{CONV} y = Transpose<perm = [0, 2, 3, 1]>(h)"),
    "Where": (
        "float[4, 8] x, bool[4, 8] c",
        "float[4, 8] y",
        "h = MatMul(x, m) y = Where(c, h, v)",
    ),
}  # fmt: skip

CONSTANTS: dict[str, NDArray[Any]] = {
    "w": weights(1, 4, 4, 3, 3, scale=0.3),
    "g": weights(2, 4, 1, 3, 3),
    "p": weights(3, 4, 4, 1, 1),
    "b": weights(4, 4, scale=0.2),
    "m": weights(5, 8, 8),
    "table": weights(13, 8, 8),
    "places": weights(14, 8, 8),
    "parts": weights(15, 2, 8),
    "stack": weights(6, 2, 8, 8),
    "v": weights(7, 8, scale=0.2),
    "g8": weights(8, 8) + np.float32(1),
    "gamma": weights(9, 4) + np.float32(1),
    "beta": weights(10, 4),
    "mean": weights(11, 4),
    "var": np.abs(weights(12, 4)) + np.float32(1),
    "zero": np.float32(0),
    "half": np.float32(0.5),
    "six": np.float32(6),
    "axis0": np.array(1, np.int64),
    "picks": np.array([1, 6], np.int64),
    "pick2": np.array([[1, 6]], np.int64),
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64),
    "axes4": np.array([0, 1, 2, 3], np.int64),
    "shape": np.array([4, 64], np.int64),
    "twice": np.array([1, 1, 2, 2], np.float32),
    "one": np.array([1], np.int64),
    "three": np.array([3], np.int64),
    "halves": np.array([2, 2], np.int64),
    "zeros": np.array([0], np.int64),
    "k": np.array([3], np.int64),
}


def source(name: str, opset: int = 18, kind: Any = np.float32) -> ModelProto:
    """The graph of this name, with the constants that it reads; floats are of this type."""
    inputs, outputs, body = OPERATORS[name]
    text = f"t ({inputs}) => ({outputs}) {{ {body} }}"
    if kind is np.float16:
        text = text.replace("float[", "float16[")
    bare = model(text, opset=opset)
    read = {tensor for node in bare.graph.node for tensor in node.input}
    constants = {key: value for key, value in CONSTANTS.items() if key in read}
    found = {key: value.astype(kind) if value.dtype == np.float32 else value for key, value in constants.items()}
    proto = model(text, found, opset)
    for at, node in enumerate(proto.graph.node):
        node.name = f"{node.op_type}_{at}"
    return proto
