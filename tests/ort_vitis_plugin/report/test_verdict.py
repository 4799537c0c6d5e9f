"""A verdict is good where nothing is objected, and plain data can tell all of it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import math

from ort_vitis_plugin.report.verdict import PREPARED, QUANTIZED, SIMULATED, Advice, Judgement, Verdict


def judgement(prepared: float, simulated: float, quantized: float, objection: str | None = None) -> Judgement:
    stages = {PREPARED: prepared, SIMULATED: simulated, QUANTIZED: quantized}
    return Judgement("y", "t", stages, objection=objection)


def test_the_worst_stage_adds_most_noise() -> None:
    assert judgement(20.0, 19.9, 19.0).worst_stage() == PREPARED
    assert judgement(60.0, 10.0, 9.9).worst_stage() == SIMULATED
    assert judgement(math.inf, 40.0, 20.0).worst_stage() == QUANTIZED
    assert Judgement("y", "t", {QUANTIZED: 3.0}).worst_stage() == QUANTIZED


def test_one_objection_is_enough() -> None:
    assert Verdict().is_good
    assert Verdict().worst is None
    bad = judgement(60.0, 50.0, 5.0, "is mostly noise")
    found = Verdict([bad, judgement(60.0, 50.0, 40.0)])
    assert not found.is_good
    assert found.worst is bad
    assert bad.decibels == 5.0


def test_what_is_infinite_is_none_in_plain_data() -> None:
    advice = Advice(QUANTIZED, "a", {"extra_options": {"X": (1, object)}}, 5.0, 9.5)
    found = Verdict([judgement(math.inf, 50.0, 20.0)], [advice], 3).as_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["judgements"][0]["sqnr"] == {PREPARED: None, SIMULATED: 50.0, QUANTIZED: 20.0}
    assert advice.gain == 4.5
    assert "5.0 dB to 9.5 dB" in str(advice)
