"""A Relu or Clip goes where both of its limits lie on the ends of the codes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.plan import Role, TensorPlan
from ort_vitis_plugin.planning.saturating_clips import saturates
from ort_vitis_plugin.testing import graph

UINT8 = host_qtype("QUInt8")


@pytest.mark.parametrize(
    ("text", "scale", "zero", "expected"),
    [
        ("y = Relu(x)", 0.1, 0, True),
        ("y = Relu(x)", 0.1, 3, False),
        ("y = Clip(x, l, h)", 6 / 255, 0, True),
        ("y = Clip(x, l, h)", 1 / 16, 0, False),
        ("y = Clip(x)", 0.1, 7, True),
    ],
)
def test_limits_on_the_ends(text: str, scale: float, zero: int, expected: bool) -> None:
    constants = {"l": np.float32(0), "h": np.float32(6)}
    whole = Graph(graph(f"t (float[2] x) => (float[2] y) {{ {text} }}", 17, constants))
    planned = TensorPlan("y", Role.ACTIVATION, UINT8, np.asarray(scale, np.float32), np.asarray(zero))
    assert saturates(whole, next(iter(whole)), planned) is expected


def test_a_computed_limit_never_does() -> None:
    whole = Graph(graph("t (float[2] x, float h) => (float[2] y) { y = Clip(x, l, h) }", 17, {"l": np.float32(0)}))
    planned = TensorPlan("y", Role.ACTIVATION, UINT8, np.asarray(0.1, np.float32), np.asarray(0))
    assert not saturates(whole, next(iter(whole)), planned)


def test_channels_never_do() -> None:
    whole = Graph(graph("t (float[2] x) => (float[2] y) { y = Relu(x) }"))
    planned = TensorPlan("y", Role.ACTIVATION, UINT8, np.full(2, 0.1, np.float32), np.zeros(2, np.int64), axis=0)
    assert not saturates(whole, next(iter(whole)), planned)
