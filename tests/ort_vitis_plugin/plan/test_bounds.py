"""A bound says how far outside a position lies, and is vacuous where there is none."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.plan import Bound, Position, largest, least

X, Y, NOBODY = Position("x"), Position("y"), Position(None)


@pytest.mark.parametrize(("x", "excess"), [(2, -1), (3, 0), (7, 0), (9, 2)])
def test_excess_is_signed(x: int, excess: int) -> None:
    assert Bound(X, low=3, high=7).excess({"x": x}) == excess


def test_expressions_read_as_rules() -> None:
    bound = Bound(14 + X - Y, low=0, high=Y + 10, rule="R", node="n")
    assert bound.variables == ("x", "y")
    assert bound.excess({"x": 2, "y": 17}) == -1
    assert bound.describe({"x": 2, "y": 17}).startswith("R at n: 0 <= ")
    assert bound.describe({"x": 2, "y": 17}).endswith("is -1")


def test_least_and_largest_leave_out_what_has_no_position() -> None:
    assert least(X, NOBODY, Y).value({"x": 5, "y": 3}) == 3
    assert largest(X, NOBODY).value({"x": 5}) == 5
    assert least(NOBODY).value({}) is None


def test_nothing_is_bounded_where_a_tensor_has_no_position() -> None:
    assert Bound(X - NOBODY, low=100).excess({"x": 0}) == 0
    assert Bound(X, low=NOBODY).excess({"x": -50}) == 0
