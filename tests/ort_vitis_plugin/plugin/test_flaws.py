"""A misspelling in what a plugin declares is found; a new operator is none."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ort_vitis_plugin.errors import PluginError
from tests.ort_vitis_plugin.plugin.sites import (
    DECLARED,
    TYPOS,
    Quantize,
    manager_of,
)


@pytest.mark.parametrize(("source", "message"), TYPOS.values(), ids=TYPOS.keys())
def test_a_misspelling_is_found(site: Path, quantize: Quantize, source: str, message: str) -> None:
    from ort_vitis_plugin.testing import check_plugin

    manager = manager_of(site, source + DECLARED)
    with pytest.raises(PluginError) as caught:
        quantize(manager, Target="board")
    assert message in str(caught.value)
    assert "plugin mine (ort-vitis-mine 0.3)" in str(caught.value)
    with pytest.raises(AssertionError) as flawed:
        check_plugin(sys.modules["ort_vitis_mine"])
    assert message in str(flawed.value)


def test_new_op_types_are_none() -> None:
    from ort_vitis_plugin.api import Fusion
    from ort_vitis_plugin.plugin.flaws import Names, flaws_of

    names = Names(frozenset(), frozenset(), {})
    ops = frozenset({"QAttention", "FusedConv", "MyNewOp", "QuickGelu", "FixNeuron"})
    assert list(flaws_of(Fusion("Key", "Doc.", ops, ops, lambda graph, one, other: True), names)) == []


def test_rules_on_what_stays_float_are_steps() -> None:
    from ort_vitis_plugin.api import LeaveFloat, Stage, StaysFloat, Transform
    from ort_vitis_plugin.plugin.entries import Entry
    from ort_vitis_plugin.plugin.flaws import flaws_of, names_of

    rule = LeaveFloat("FloatSpectrums", "Doc.", Stage.PREPARE, lambda graph, context: StaysFloat())
    near = Transform("FloatSpectrum", "Doc.", Stage.PREPARE, lambda graph: 0)
    behind = Transform("Behind", "Doc.", Stage.PREPARE, lambda graph: 0, after=("FloatSpectrums",))
    names = names_of([Entry(each, "mine") for each in (rule, near, behind)], [])
    assert list(flaws_of(behind, names)) == []
