"""Which tensors set no scale: first those that are data and must, then masks, fills and pads."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.calibration.statistics import Statistics
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.selection.masks_and_fills import FILL, IDLE_MASK, MASK, MASKED, PAD, NotData
from ort_vitis_plugin.sketch import Sketch
from ort_vitis_plugin.testing import graph

LOWEST = float(np.finfo(np.float32).min)
MATRIX = "(float[2, 4] x) => (float[2, 4] y)"


def model(body: str, head: str = MATRIX, **constants: Any) -> ModelProto:
    arrays = {name: np.asarray(value) for name, value in constants.items()}
    arrays = {name: a.astype(np.float32) if a.dtype == np.float64 else a for name, a in arrays.items()}
    return graph(f"t {head} {{ {body} }}", 17, arrays)


def judge(source: ModelProto, seen: Mapping[str, Any]) -> NotData:
    """What the rules say when calibration saw these values."""
    sketches = {name: Sketch() for name in seen}
    for name, values in seen.items():
        sketches[name].add(np.asarray(values, np.float32))
    return NotData(Graph(source), Statistics(sketches, 1))


SCORES = [-3.0, -1.0, 0.5, 4.0]

DATA: dict[str, tuple[ModelProto, dict[str, Any], tuple[str, ...]]] = {
    "scores in front of Softmax": (model("y = Softmax(x)"), {"x": SCORES}, ("x",)),
    "a bias of positions": (
        model("s = Add(x, b) y = Softmax(s)", b=[-5.0, -2.0, 0.0, 1.0]),
        {"x": SCORES, "s": SCORES},
        ("x", "b", "s"),
    ),
    "a bias that falls with distance": (
        model("s = Add(x, b) y = Softmax(s)", b=np.linspace(-400, 0, 8).reshape(2, 4)),
        {"x": SCORES, "s": [-400.0, -150, -90, -30, 0]},
        ("x", "b", "s"),
    ),
    "far values that no sink reads": (
        model("s = Add(x, b) y = Relu(s)", b=[-1e4, 0.0, 0.0, 0.0]),
        {"x": SCORES, "s": [-1e4, 1.0]},
        ("b", "s"),
    ),
    "a matrix product with far values": (
        model("s = MatMul(x, w) y = Softmax(s)", w=np.ones((4, 4))),
        {"x": SCORES, "s": [-1000.0, 0.0]},
        ("s",),
    ),
    "a floor under all values": (
        model("s = Max(x, low) y = Softmax(s)", low=-100.0),
        {"x": SCORES, "s": SCORES},
        ("x", "s"),
    ),
    "a pad of zeros in front of a maximum": (
        model(
            "p = Pad(x, pads) y = MaxPool<kernel_shape = [2]>(p)",
            "(float[1, 2, 4] x) => (float[1, 2, 5] y)",
            pads=np.array([0, 0, 1, 0, 0, 1]),
        ),
        {"x": SCORES, "p": SCORES},
        ("x", "p"),
    ),
    "a pad above the data": (
        model(
            "p = Pad(x, pads, v) y = MaxPool<kernel_shape = [2]>(p)",
            "(float[1, 2, 4] x) => (float[1, 2, 5] y)",
            pads=np.array([0, 0, 1, 0, 0, 1]),
            v=9.0,
        ),
        {"x": SCORES, "p": [9.0, *SCORES]},
        ("p", "v"),
    ),
    "a pad that a Conv reads too": (
        model(
            "p = Pad(x, pads, v) y = MaxPool<kernel_shape = [2]>(p) z = Conv(p, w)",
            "(float[1, 2, 4] x) => (float[1, 2, 5] y, float[1, 2, 6] z)",
            pads=np.array([0, 0, 1, 0, 0, 1]),
            v=-9.0,
            w=np.ones((2, 2, 1)),
        ),
        {"x": SCORES, "p": [-9.0, *SCORES]},
        ("p", "v"),
    ),
}


@pytest.mark.parametrize("name", DATA)
def test_data(name: str) -> None:
    source, seen, tensors = DATA[name]
    found = judge(source, seen)
    assert {tensor: found.reason(tensor) for tensor in tensors} == dict.fromkeys(tensors)
    assert not found.padded


MASKS = [[0.0, -1e4, -1e4, -1e4], [0.0, 0.0, -1e4, -1e4]]

NO_DATA: dict[str, tuple[ModelProto, dict[str, Any], dict[str, str | None]]] = {
    "a constant mask": (
        model("s = Add(x, m) y = Softmax(s)", m=MASKS),
        {"x": SCORES, "s": [-1e4, *SCORES]},
        {"m": MASK, "s": MASKED, "x": None},
    ),
    "a mask of -inf": (
        model("s = Add(m, x) y = LogSoftmax(s)", m=[0.0, -np.inf, 0.0, 0.0]),
        {"x": SCORES, "s": SCORES},
        {"m": MASK, "s": MASKED, "x": None},
    ),
    "a mask of -100, a bias behind it": (
        model("s = Add(x, m) t = Add(s, b) y = Softmax(t)", m=[0.0, -100.0, 0.0, 0.0], b=[1.0, -2.0, 0.5, 3.0]),
        {"x": SCORES, "s": [-103.0, *SCORES], "t": [-105.0, *SCORES]},
        {"m": MASK, "s": MASKED, "t": MASKED, "b": None},
    ),
    "Where, then a Reshape": (
        model(
            "s = Where(c, x, f) r = Reshape(s, n) y = Softmax(r)",
            c=np.eye(2, 4) > 0,
            f=-65504.0,
            n=np.array([2, 4]),
        ),
        {"x": SCORES, "s": [-65504.0, *SCORES], "r": [-65504.0, *SCORES]},
        {"f": MASK, "s": MASKED, "r": MASKED, "x": None},
    ),
    "a mask that is a graph input": (
        model("s = Add(x, m) y = Softmax(s)", "(float[2, 4] x, float[2, 4] m) => (float[2, 4] y)"),
        {"x": SCORES, "m": [0.0, -1e9], "s": [-1e9, *SCORES]},
        {"m": MASK, "s": MASKED, "x": None},
    ),
    "a mask that was idle": (
        model("s = Add(x, m) y = Softmax(s)", "(float[2, 4] x, float[2, 4] m) => (float[2, 4] y)"),
        {"x": SCORES, "m": [0.0, 0.0], "s": SCORES},
        {"m": IDLE_MASK, "s": MASKED, "x": None},
    ),
    "a mask that is subtracted": (
        model(
            "i = Mul(k, f) s = Sub(x, i) y = Softmax(s)", "(float[2, 4] x, float[2, 4] k) => (float[2, 4] y)", f=1e10
        ),
        {"x": SCORES, "k": [0.0, 1.0], "i": [0.0, 1e10], "s": [-1e10, *SCORES]},
        {"i": MASK, "s": MASKED, "x": None, "k": None},
    ),
    "Softmax in parts": (
        model("s = Add(x, m) l = ReduceMax(s) d = Sub(s, l) y = Exp(d)", m=MASKS),
        {"x": SCORES, "s": [-1e4, *SCORES], "l": [4.0], "d": [-1e4, *SCORES]},
        {"m": MASK, "s": MASKED, "d": MASKED, "l": None},
    ),
    "a mask that is a bias": (
        model("s = Gemm(x, w, m) y = Softmax(s)", w=np.eye(4), m=MASKS),
        {"x": SCORES, "s": [-1e4, *SCORES]},
        {"m": MASK, "s": MASKED, "x": None, "w": None},
    ),
    "fills in front of a maximum over tokens": (
        model(
            "s = Where(c, x, f) y = ReduceMax<axes = [1]>(s)",
            f"{MATRIX[:-1].replace('[2, 4] y', '[2, 1] y')})",
            c=np.eye(2, 4) > 0,
            f=-1e9,
        ),
        {"x": SCORES, "s": [-1e9, *SCORES]},
        {"f": MASK, "s": MASKED, "x": None},
    ),
    "the lowest float anywhere": (
        model("s = Add(x, k) y = Relu(s)", k=[0.0, LOWEST, 0.0, 0.0]),
        {"x": SCORES, "s": [LOWEST, 1.0]},
        {"k": FILL, "s": FILL, "x": None},
    ),
}


@pytest.mark.parametrize("name", NO_DATA)
def test_no_data(name: str) -> None:
    source, seen, reasons = NO_DATA[name]
    found = judge(source, seen)
    assert {tensor: found.reason(tensor) for tensor in reasons} == reasons


@pytest.mark.parametrize("fill", [-4.0, -1e4, -65504.0, LOWEST, -np.inf], ids=str)
def test_a_pad_in_front_of_a_maximum_takes_the_scale_of_its_data(fill: float) -> None:
    source = model(
        "p = Pad(x, pads, v) y = MaxPool<kernel_shape = [2]>(p)",
        "(float[1, 2, 4] x) => (float[1, 2, 5] y)",
        pads=np.array([0, 0, 1, 0, 0, 1]),
        v=np.float32(fill),
    )
    found = judge(source, {"x": SCORES, "p": [fill, *SCORES]})
    assert found.padded == {"p": "x"}
    assert found.reason("v") == PAD
    assert found.reason("p") is None


def test_long_chains_are_walked_without_recursion() -> None:
    steps = " ".join(f"t{n + 1} = Add(t{n}, k)" for n in range(3000))
    source = model(f"t0 = Add(x, m) {steps} y = Softmax(t3000)", m=MASKS, k=0.001)
    found = judge(source, {"x": SCORES})
    assert found.reason("t3000") == MASKED


def test_the_report_names_them() -> None:
    from ort_vitis_plugin import quantize_static

    source = model("q = MatMul(x, w) s = Add(q, m) y = Softmax(s)", w=np.eye(4), m=MASKS)
    sample = {"x": np.array([SCORES, SCORES], np.float32)}
    report = quantize_static(source, None, [sample]).report
    assert report.not_data["m"] == MASK, "the bias of the Gemm that onnxruntime makes of both"
    assert report.not_data["s"] == MASKED
    assert not {"m", "s"} & report.types.keys()
