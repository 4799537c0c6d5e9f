"""A HardSigmoid on codes gives all 256 answers of the float one, or it stays."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from tests.ort_vitis_plugin.convert.small_networks import check_twin, kernels, network, pair

FACTOR = 2731 / 16384 * 6
EVERY = [{"x": ((np.arange(256) - 128) * 2.0**-position).astype(np.float32)} for position in (2, 4, 6)]


@pytest.mark.parametrize("end", [5, 6, 7, 8])
@pytest.mark.parametrize("position", [2, 4, 6])
def test_every_code(position: int, end: int) -> None:
    body = f"""{pair("x", "xd", f"p{position}")}
        h = HardSigmoid<alpha = 0.16666667, beta = 0.5>(xd)
        t = Mul(h, factor)
        {pair("t", "y", f"p{end}")}"""
    twin = check_twin(network("float[256] x => float[256] y", body, factor=FACTOR), EVERY)
    assert kernels(twin)["QLinearAdd"] == 1
    assert not twin.kept


@pytest.mark.parametrize("position", range(2, 8))
def test_without_the_factor_ties_decide(position: int) -> None:
    body = f"{pair('x', 'xd', f'p{position}')}\nt = HardSigmoid<alpha = 0.16666667>(xd)\n{pair('t', 'y', 'p6')}"
    twin = check_twin(network("float[256] x => float[256] y", body), EVERY)
    assert kernels(twin)["QLinearAdd"] + len(twin.kept) == 1


def test_other_slopes() -> None:
    body = f"{pair('x', 'xd', 'p4')}\nt = HardSigmoid<alpha = 0.3, beta = 0.4>(xd)\n{pair('t', 'y', 'p7')}"
    check_twin(network("float[256] x => float[256] y", body), EVERY)


def test_a_slope_that_codes_cannot_add() -> None:
    body = f"{pair('x', 'xd', 'p4')}\nt = HardSigmoid<alpha = -0.2, beta = 0.5>(xd)\n{pair('t', 'y', 'p7')}"
    twin = check_twin(network("float[256] x => float[256] y", body), EVERY)
    assert [skip.op_type for skip in twin.kept] == ["HardSigmoid"]


def test_below_opset_11_it_stays_float() -> None:
    body = f"{pair('x', 'xd', 'p4')}\nt = HardSigmoid(xd)\n{pair('t', 'y', 'p7')}"
    twin = check_twin(network("float[256] x => float[256] y", body, 10), EVERY)
    assert "opset 12" in twin.kept[0].reason


def test_a_value_that_others_read_stays() -> None:
    body = f"{pair('x', 'xd', 'p4')}\nt = HardSigmoid(xd)\n{pair('t', 'y', 'p7')}\nz = Neg(t)"
    twin = check_twin(network("float[256] x => float[256] y, float[256] z", body), EVERY)
    assert not twin.rewritten
