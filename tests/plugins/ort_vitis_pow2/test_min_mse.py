"""MinMSE: of all positions the one of least error, over all samples or as most samples vote."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin.api import ErrorCurve, QType, Role, Sketch, TensorFacts, qtype
from ort_vitis_plugin.testing import plain_context
from ort_vitis_pow2.min_mse import MIN_MSE, Votes, least_error, votes

INT8, UINT8 = qtype("QInt8"), qtype("QUInt8")


def sketch_of(*values: float) -> Sketch:
    found = Sketch()
    found.add(np.array(values, np.float32))
    return found


def curve_of(sketch: Sketch, kind: QType = INT8) -> ErrorCurve:
    return ErrorCurve(sketch, kind, kind.limits(), True)


def facts(collected: object = None) -> TensorFacts:
    return TensorFacts("t", Role.ACTIVATION, plain_context().settings, collected)


def test_clipping_one_value_is_worth_a_finer_step_for_many() -> None:
    values = [*np.random.default_rng(0).uniform(-1, 1, 5000), 1.01]
    assert curve_of(sketch_of(*values)).covering() == 6
    assert least_error(curve_of(sketch_of(*values)), facts()) == 7
    assert least_error(curve_of(sketch_of(*values, 100.0)), facts()) == 0


@pytest.mark.parametrize(("kind", "spare"), [("QInt8", 0), ("QInt16", 0), ("QInt32", 7), ("QUInt32", 7)])
def test_bits_beyond_a_float_leave_room_above(kind: str, spare: int) -> None:
    """A float32 has 24 bits; codes of 32, one of them for the sign, have 7 more."""
    curve = curve_of(sketch_of(-1.0, 0.5, 0.75), qtype(kind))  # exact from position 2 on
    if spare:
        assert least_error(curve, facts()) == curve.covering() - spare
    else:
        assert least_error(curve, facts()) == curve.best()


def test_each_sample_votes_once_and_the_most_frequent_position_wins() -> None:
    collected = Votes(INT8, symmetric=True)
    for value in (0.9, 0.9, 100.0):
        collected.observe({"t": sketch_of(value), "zero": sketch_of(0.0)})
    assert collected.positions["t"] == {curve_of(sketch_of(0.9)).best(): 2, curve_of(sketch_of(100.0)).best(): 1}
    assert collected.winner("t") == curve_of(sketch_of(0.9)).best()
    assert least_error(curve_of(sketch_of(0.9, 100.0)), facts(collected)) == collected.winner("t")


def test_of_equally_frequent_positions_the_larger_step_wins() -> None:
    for order in ((0.9, 100.0), (100.0, 0.9)):
        collected = Votes(INT8, symmetric=True)
        for value in order:
            collected.observe({"t": sketch_of(value)})
        assert collected.winner("t") == curve_of(sketch_of(100.0)).best()


def test_tensors_that_are_always_zero_have_no_vote() -> None:
    collected = Votes(INT8, symmetric=True)
    collected.observe({"t": sketch_of(0.0)})
    assert collected.positions == {}
    assert collected.winner("t") is None
    assert least_error(curve_of(sketch_of(0.7)), facts(collected)) == curve_of(sketch_of(0.7)).best()


@pytest.mark.parametrize("symmetric", [False, True])
def test_votes_are_cast_with_the_zero_points_of_the_call(symmetric: bool) -> None:
    collected = Votes(UINT8, symmetric=symmetric)
    collected.observe({"t": sketch_of(0.0, 0.3, 1.9)})
    (position,) = collected.positions["t"]
    assert position == ErrorCurve(sketch_of(0.0, 0.3, 1.9), UINT8, (0, 255), symmetric).best()
    assert MIN_MSE.collector is votes


@pytest.mark.parametrize(
    ("options", "collects"), [({}, False), ({"MinMSEMode": "All"}, False), ({"MinMSEMode": "MostCommon"}, True)]
)
def test_only_the_most_common_mode_collects(options: dict[str, Any], collects: bool) -> None:
    found = votes(plain_context(**options, ActivationSymmetric=True).settings)
    assert (found is not None) == collects
    assert found is None or found.symmetric


@pytest.mark.parametrize(("kind", "spare"), [("QInt8", 0), ("QInt16", 0), ("QInt32", 7)])
def test_bits_beyond_a_significand_are_room_above(kind: str, spare: int) -> None:
    curve = curve_of(sketch_of(0.3, 0.8), qtype(kind))
    wanted = curve.covering() - spare if spare else curve.best()
    assert least_error(curve, facts()) == wanted
