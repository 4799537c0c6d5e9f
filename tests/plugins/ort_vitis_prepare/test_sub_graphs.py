"""Bodies of If are left alone, and what they read from outside counts as read."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_ipu.prepare.bn_to_conv import bn_to_conv
from ort_vitis_ipu.prepare.reduce_mean_to_pool import reduce_mean_to_pool
from ort_vitis_ipu.prepare.split_to_slice import split_to_slice
from ort_vitis_plugin.api import Transform
from ort_vitis_plugin.testing import check_transform, graph, op_types, plain_context
from ort_vitis_prepare.cle.equalize import equalize
from ort_vitis_prepare.convert.clip6_to_relu import clip6_to_relu
from ort_vitis_prepare.fold.fold_batch_norm import fold_batch_norm

RANDOM = np.random.default_rng(7)
CONSTANTS = {
    "w": RANDOM.uniform(1, 9, (4, 4, 3, 3)).astype(np.float32),
    "u": RANDOM.uniform(1, 9, (3, 4, 1, 1)).astype(np.float32),
    **{name: RANDOM.uniform(0.5, 1.5, 4).astype(np.float32) for name in "gomv"},
    "zero": np.array(0, np.float32),
    "six": np.array(6, np.float32),
    "axes": np.array([2, 3]),
}


def branching(outside: str, inside: str) -> ModelProto:
    """``inside`` computes p of one branch; the other reads x."""
    text = f"""t (float[1, 4, 5, 5] x, bool c) => (float[] y, float[N, C, H, W] z) {{
        {outside}
        z = If (c) <
            then_branch = a () => (float[] p) {{ {inside} }},
            else_branch = b () => (float[] q) {{ q = Relu(x) }}
        >
    }}"""
    return graph(text, 18, CONSTANTS)


CASES: dict[str, tuple[Transform, ModelProto, list[str]]] = {
    "a tensor before the norm is read inside": (
        fold_batch_norm,
        branching("h = Conv(x, w) y = BatchNormalization(h, g, o, m, v)", "p = Neg(h)"),
        ["Conv", "BatchNormalization", "If"],
    ),
    "weights are read inside": (
        fold_batch_norm,
        branching("h = Conv(x, w) y = BatchNormalization(h, g, o, m, v)", "p = Conv(x, w)"),
        ["Conv", "If"],
    ),
    "norm inside": (
        fold_batch_norm,
        branching("y = Relu(x)", "h = Conv(x, w) p = BatchNormalization(h, g, o, m, v)"),
        ["Relu", "If"],
    ),
    "norm alone, parameters read inside": (
        bn_to_conv,
        branching("y = BatchNormalization(x, g, o, m, v)", "p = BatchNormalization(x, g, o, m, v)"),
        ["Conv", "If"],
    ),
    "a tensor between layers is read inside": (
        equalize,
        branching("h = Conv(x, w) r = Relu(h) y = Conv(r, u)", "p = Neg(r)"),
        ["Conv", "Relu", "Conv", "If"],
    ),
    "weights of a layer are read inside": (
        equalize,
        branching("h = Conv(x, w) r = Relu(h) y = Conv(r, u)", "p = Conv(x, w)"),
        ["Conv", "Relu", "Conv", "If"],
    ),
    "bounds are read inside": (
        clip6_to_relu,
        branching("r = Relu(x) y = Clip(r, zero, zero)", "p = Clip(x, zero, six)"),
        ["Relu", "Clip", "If"],
    ),
    "axes are read inside": (
        reduce_mean_to_pool,
        branching("y = ReduceMean(x, axes)", "p = ReduceMean(x, axes)"),
        ["GlobalAveragePool", "If"],
    ),
    "parts are read inside": (
        split_to_slice,
        branching("y, n = Split<axis = 1, num_outputs = 2>(x)", "p = Neg(n)"),
        ["Slice", "Slice", "If"],
    ),
}


@pytest.mark.parametrize("condition", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_sub_graphs(case: str, condition: bool) -> None:
    step, model, expected = CASES[case]
    feeds = {"x": RANDOM.standard_normal((1, 4, 5, 5)).astype(np.float32), "c": np.array(condition)}
    assert (
        op_types(check_transform(step, model, plain_context(IncludeCLE=True), tolerance=1e-5, feeds=feeds)) == expected
    )
