"""A tensor has a position where its scale is one power of two, and moves by taking another."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.plan import Int32Bias, Role, TensorPlan

INT8 = host_qtype("QInt8")


def planned(scale: object, kind: object = INT8, **more: object) -> TensorPlan:
    return TensorPlan("x", Role.ACTIVATION, kind, np.asarray(scale, np.float32), np.zeros((), np.int64), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("scale", "position"), [(0.125, 3), (4.0, -2), (0.1, None), ([0.5, 0.5], None)])
def test_position(scale: object, position: int | None) -> None:
    assert planned(scale).position == position


def test_floats_and_derived_biases_have_none() -> None:
    assert planned(1.0, host_qtype("QBFloat16")).position is None
    assert planned(0.5, derived=Int32Bias("n", "x", "w")).position is None


def test_a_move_takes_the_zero_point_of_its_curve() -> None:
    class Curve:
        def zero_point(self, position: int) -> int:
            return 10 * position

    moved = planned(1.0, curve=Curve())
    moved.move(4)
    assert (float(moved.scale), int(moved.zero_point), moved.position) == (2.0**-4, 40, 4)


def test_a_copy_moves_alone() -> None:
    first = planned(1.0, axis=None, fixed=True)
    twin = first.copy()
    assert twin == first
    twin.move(2)
    assert (first.position, twin.position, twin.fixed) == (0, 2, True)
