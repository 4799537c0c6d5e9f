"""A constant that takes other values keeps all that its curve of errors holds beside the values."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.numerics.qtypes import INT8
from ort_vitis_plugin.plan import Plan, Role, TensorPlan
from ort_vitis_plugin.plan.energy_curve import EnergyCurve
from ort_vitis_plugin.plan.error_curve import ErrorCurve
from ort_vitis_plugin.planning.changed_constants import change_constant
from ort_vitis_plugin.planning.tensor_parameters import sketch_of

BEFORE = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
AFTER = np.linspace(-0.3, 0.7, 12, dtype=np.float32).reshape(4, 3)
IMPORTANCE = np.repeat(np.float32([1, 0.5, 0.25, 0]), 3).reshape(4, 3)
WHAT: tuple[Any, ...] = (INT8, INT8.limits())


def weighted(values: np.ndarray[Any, Any]) -> EnergyCurve:
    return EnergyCurve(sketch_of(values), *WHAT, True, values, importance=IMPORTANCE)


def not_clipping(values: np.ndarray[Any, Any]) -> ErrorCurve:
    return ErrorCurve(sketch_of(values), *WHAT, False, values, True)


@pytest.mark.parametrize("curve", [weighted, not_clipping])
def test_its_errors_are_those_of_a_curve_of_the_new_values(
    graph: Callable[..., onnx.ModelProto], curve: Callable[[np.ndarray[Any, Any]], ErrorCurve]
) -> None:
    model = graph("t (float[2, 4] x) => (float[2, 3] y) { y = MatMul(x, w) }", constants={"w": BEFORE})
    planned = TensorPlan("w", Role.WEIGHT, INT8, np.float32(2**-6), np.zeros((), np.int64), curve=curve(BEFORE))
    plan = Plan(Graph(model), {"w": planned})
    for position in range(4, 12):
        planned.curve.error(position)  # type: ignore[union-attr] # what is known of the old values must not stay
    change_constant(plan, "w", AFTER, cast(Any, None))
    found, wanted = planned.curve, curve(AFTER)
    assert isinstance(found, type(wanted))
    assert [found.error(p) for p in range(4, 12)] == [wanted.error(p) for p in range(4, 12)]
    assert [found.zero_point(p) for p in range(4, 12)] == [wanted.zero_point(p) for p in range(4, 12)]
