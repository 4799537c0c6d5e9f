"""A kernel is chosen by the codes around an operator, and each refusal says what is in the way."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from ort_vitis_plugin.convert.qlinear_site import Codes, Site, activations, bias, weighted
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph

GRAPH = Graph(
    graph(
        "t (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) { y = Conv(x, w, b) }",
        constants={"w": np.zeros((3, 2, 1, 1), np.float32), "b": np.zeros(3, np.float32)},
    )
)


def codes(
    tensor: str, kind: int = TensorProto.UINT8, scale: Any = 0.5, zero: Any = 0, axis: int | None = None
) -> Codes:
    scales = np.asarray(scale, np.float32)
    return Codes(tensor, kind, f"{tensor}_s", f"{tensor}_z", scales, np.broadcast_to(zero, scales.shape), axis)


X, W, Y = codes("x"), codes("w", TensorProto.INT8, 0.25), codes("y")
B = codes("b", TensorProto.INT32, 0.125)
SITE = Site(GRAPH, next(iter(GRAPH)), (X, W, B), (Y,))


def with_(x: Codes | None = X, w: Codes | None = W, b: Codes | None = B, y: Codes | None = Y) -> Site:
    return replace(SITE, inputs=(x, w, b), outputs=(y,))


def test_what_fits_is_given_back() -> None:
    assert activations(SITE, 0) == ([X], Y)
    assert weighted(SITE, 0) == (X, W, Y)
    assert bias(SITE, np.array(0.125)) == "b"
    assert X.triple == ["x", "x_s", "x_z"]


REFUSED = {
    "a float input": (with_(x=None), "an input is not 8-bit codes"),
    "an output that others read": (with_(y=None), "does not go to one QuantizeLinear"),
    "activations by channel": (with_(x=codes("x", scale=[1, 2], axis=1)), "an activation has a scale for each channel"),
    "two types": (with_(x=codes("x", TensorProto.INT8)), "inputs and output have different types"),
    "a weight of sixteen bits": (with_(w=codes("w", TensorProto.INT16)), "the weight is not 8-bit codes"),
    "another axis": (with_(w=codes("w", TensorProto.INT8, [1, 2], axis=1)), "along another axis than its outputs"),
    "zero points": (with_(w=codes("w", TensorProto.INT8, [1, 2, 3], [0, 1, 0], 0)), "different zero points"),
    "unsigned beside signed": (
        with_(x=codes("x", TensorProto.INT8), y=codes("y", TensorProto.INT8), w=codes("w")),
        "no kernel takes int8 activations with uint8 weights",
    ),
}


@pytest.mark.parametrize(("site", "text"), REFUSED.values(), ids=REFUSED)
def test_refusals_say_why(site: Site, text: str) -> None:
    found = weighted(site, 0)
    assert isinstance(found, str)
    assert text in found


def test_a_bias_counts_in_the_scale_of_the_products() -> None:
    assert bias(SITE, np.array(0.126)) is None
    assert bias(with_(b=None), np.array(0.125)) is None
    assert bias(with_(b=codes("b", TensorProto.INT32, 0.125, 1)), np.array(0.125)) is None
    assert bias(SITE, np.array([0.125, 0.125, 0.125])) == "b"


def test_equal_codes_have_one_meaning_where_parameters_are_equal() -> None:
    assert X.has_meaning_of(Y)
    assert not X.has_meaning_of(codes("z", scale=0.25))
    assert not X.has_meaning_of(codes("z", zero=1))
    assert not X.has_meaning_of(codes("z", TensorProto.INT8))
