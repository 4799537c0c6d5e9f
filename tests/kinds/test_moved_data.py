"""Operators that only move data are quantized where their input is, in whatever order the nodes come; and onnxruntime,
which carries pairs on through them, loads what comes out (it aborts the process where a body reads the moved tensor).
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import QuantFormat

from ort_vitis_plugin import VitisQuantFormat, quantize_static
from tests.thinned import thinned

from .checks import S8S8, assert_close, decibels, model, quantized, samples, weights

MOVES: dict[str, tuple[str, str]] = {
    "Transpose": ("Transpose<perm = [0, 1, 3, 2]>(x)", "1, 4, 6, 6"),
    "Reshape": ("Reshape(x, flat)", "1, 4, 36"),
    "Squeeze": ("Squeeze(x, none)", "4, 6, 6"),
    "Unsqueeze": ("Unsqueeze(x, none)", "1, 1, 4, 6, 6"),
    "Slice": ("Slice(x, none, two)", "1, 4, 6, 6"),
    "MaxPool": ("MaxPool<kernel_shape = [2, 2]>(x)", "1, 4, 5, 5"),
    "Flatten": ("Flatten(x)", "1, 144"),
    "Gather": ("Gather(x, none)", "1, 4, 6, 6"),
    "two of them": ("Reshape(turned, flat)", "1, 4, 36"),
}
CONSTANTS = {"w": weights(1, 4, 4, 1, 1), "flat": np.array([1, 4, 36]), "none": np.array([0]), "two": np.array([2])}
BODIES = "If(c) <then_branch = p () => (float[] u) { u = Relu(m) }, else_branch = q () => (float[] v) { v = Neg(m) }>"
CONV = "y = Conv(x, w)"


def moved(move: str, reader: str, *, first: bool) -> ModelProto:
    text, shape = MOVES[move]
    nodes = [f"turned = Transpose<perm = [0, 1, 3, 2]>(x) m = {text}", CONV]
    body = " ".join(nodes if first else reversed(nodes))
    head = f"t (float[1, 4, 6, 6] x, bool c) => (float[1, 4, 6, 6] y, float[{shape}] z)"
    return model(f"{head} {{ {body} z = {reader} }}", CONSTANTS)


@pytest.mark.parametrize("reader", ["Neg(m)", BODIES], ids=["a node", "a body"])
@pytest.mark.parametrize("move", MOVES)
def test_the_order_of_nodes_does_not_matter(move: str, reader: str) -> None:
    first, last = (quantized(moved(move, reader, first=early)).report.types for early in (True, False))
    assert first == last
    assert "m" in first


KINDS: dict[str, dict[str, Any]] = {
    "not selected": {"op_types_to_quantize": ["Conv"]},
    "for a transformer": {"extra_options": {"Target": "ipu_transformer"}, "op_types_to_quantize": ["Conv"]},
    "sixteen bits": {"quant_format": VitisQuantFormat.QDQ, "op_types_to_quantize": ["Conv"], **S8S8},
    "dedicated pairs": {"extra_options": {"DedicatedQDQPair": True}, "op_types_to_quantize": ["Conv"]},
    "selected": {},
    "operators": {"quant_format": QuantFormat.QOperator},
}


@pytest.mark.parametrize(("move", "kind"), thinned(3, MOVES, KINDS))
def test_a_body_reads_what_was_moved(move: str, kind: str) -> None:
    source = moved(move, BODIES, first=True)
    assert_close(source, quantized(source, **KINDS[kind]), 25)


def test_before_an_output() -> None:
    """What stands before the pair has another name where the tensor is an output."""
    text = f"""t (float[1, 4, 6, 6] x, bool c) => (float[1, 4, 6, 6] h, float[1, 4, 36] z)
    {{ h = Conv(x, w) m = Reshape(h, flat) z = {BODIES} }}"""
    source = model(text, CONSTANTS)
    result = quantize_static(source, None, samples(source), op_types_to_quantize=["Conv"])
    assert decibels(source, result.model, samples(source)) > 25
