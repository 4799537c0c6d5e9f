"""A search finds the node that hurts, writes what reproduces it, and goes on where it was broken off."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin import load_config, quantize_static
from ort_vitis_plugin.errors import CalibrationError, OutputError, QuantizationError
from ort_vitis_plugin.testing import graph
from ort_vitis_plugin.trials.bench import Bench
from ort_vitis_plugin.trials.budget import Budget
from ort_vitis_plugin.trials.trial import Trial
from ort_vitis_plugin.trials.tune import Tuned, tune

pytestmark = pytest.mark.filterwarnings("ignore::ort_vitis_plugin.errors.AccuracyWarning")
DETECTOR = """t (float[1, 3, 8, 8] x) => (float[1, 7, 64] y) {
  [c0] a = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)  [s0] sa = Sigmoid(a)  [m0] r = Mul(a, sa)
  [c3] b = Conv(r, w3, b0)  [s1] sb = Sigmoid(b)  [m1] v = Mul(b, sb)
  [c1] p = Conv(v, w1, b1)  q = Reshape(p, s4)
  [m] boxes = Mul(q, k)  [c2] t = Conv(v, w2, b2)  u = Reshape(t, s3)  [sg] scores = Sigmoid(u)
  [c] y = Concat<axis = 1>(boxes, scores) }"""
GOAL = 25.0


@cache
def detector() -> ModelProto:
    rng = np.random.default_rng(0)
    floats = {
        "w0": rng.normal(0, 0.3, (6, 3, 3, 3)),
        "b0": rng.normal(0, 0.1, 6),
        "w1": rng.normal(0, 0.3, (4, 6, 1, 1)),
        "b1": np.full(4, 3.0),
        "w2": rng.normal(0, 0.3, (3, 6, 1, 1)),
        "b2": np.full(3, -5.0),
        "w3": rng.normal(0, 0.3, (6, 6, 1, 1)),
        "k": np.array(100.0),
    }
    sizes = {"s4": np.array([1, 4, 64]), "s3": np.array([1, 3, 64])}
    return graph(DETECTOR, constants={**{name: each.astype(np.float32) for name, each in floats.items()}, **sizes})


def feeds(count: int = 8) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [{"x": rng.standard_normal((1, 3, 8, 8)).astype(np.float32)} for _ in range(count)]


def table(tuned: Tuned) -> list[tuple[Any, ...]]:
    """The trials, without their times."""
    return [
        (row.what, row.score, row.exchanged, row.gain, row.on_device, row.size, row.failure) for row in tuned.trials
    ]


@cache
def found() -> Tuned:
    return tune(detector(), feeds(), goal=GOAL, budget="2m")


def test_the_node_that_hurts_is_found_and_all_else_stays_on_the_device() -> None:
    tuned = found()
    first = tuned.trials[0]
    assert first.score is not None
    assert first.score < 5
    assert tuned.reached
    assert tuned.why_not == ""
    assert tuned.best.score is not None
    assert tuned.best.score >= GOAL
    assert tuned.best.configuration["nodes_to_exclude"] == ["sg"]
    assert tuned.best.on_device == first.on_device - 1
    assert tuned.best in tuned.pareto


def test_two_runs_give_the_same_table() -> None:
    again = tune(detector(), feeds(), goal=GOAL, budget="2m")
    assert table(again) == table(found())


def test_the_configuration_file_gives_the_same_bytes(tmp_path: Path) -> None:
    out = tmp_path / "tuned.onnx"
    tune(detector(), feeds(), goal=GOAL, budget="2m", out=out)
    again = tmp_path / "again.onnx"
    quantize_static(detector(), again, feeds(), **load_config(tmp_path / "tuned.toml"))
    assert again.read_bytes() == out.read_bytes()


def test_a_search_that_was_broken_off_keeps_the_best_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbroken = table(found())  # before trials are counted
    out, done = tmp_path / "tuned.onnx", 0
    tried = Bench.tried

    def breaks_off(self: Bench, what: str, configuration: Any, first: Trial | None = None) -> Trial:
        nonlocal done
        done += 1
        if done == 3:
            raise KeyboardInterrupt
        return tried(self, what, configuration, first)

    with monkeypatch.context() as patched:
        patched.setattr(Bench, "tried", breaks_off)
        broken = tune(detector(), feeds(), goal=GOAL, budget="2m", out=out)
    assert broken.interrupted
    assert len(broken.trials) == 2
    assert out.is_file()
    trials = tmp_path / "tuned.trials.jsonl"
    trials.write_text(trials.read_text(encoding="utf-8") + '{"what": "bro', encoding="utf-8")
    done = -1000
    monkeypatch.setattr(Bench, "tried", breaks_off)
    tuned = tune(detector(), feeds(), goal=GOAL, budget="2m", out=out)
    assert table(tuned) == unbroken
    assert done == -1000 + len(tuned.trials) - 2
    rows = [json.loads(line) for line in trials.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 1 + len(tuned.trials)
    monkeypatch.setattr(Bench, "exchanged", lambda self, configuration: pytest.fail("it is in the file"))
    assert table(tune(detector(), feeds(), goal=GOAL, budget="2m", out=out)) == unbroken
    assert done == -1000 + len(tuned.trials) - 2


def test_where_corrections_helped_and_no_time_is_left_the_first_configuration_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = 0

    def takes_long(self: Bench, what: str, configuration: Any, first: Trial | None = None) -> Trial:
        nonlocal done
        done += 1
        corrects = configuration["extra_options"].get("Recipe") != "plain"
        return Trial(what, configuration, 2.0 if corrects else 1.0, on_device=5, seconds=35.0)

    monkeypatch.setattr(Bench, "tried", takes_long)
    monkeypatch.setattr(Budget, "spent", property(lambda self: 35.0 * done))
    tuned = tune(detector(), feeds(4), budget="130s")
    assert [row.what for row in tuned.trials] == ["as asked for", "the method alone"]
    assert tuned.best.what == "as asked for"


def test_as_few_tensors_as_the_goal_needs_get_a_wider_type() -> None:
    options = {"UseQDQContribOps": True}
    quiet = {"target": "cpu", "budget": "2m", "extra_options": options}
    base = tune(detector(), feeds(24), goal=0.0, **quiet).best.score
    assert base is not None
    tuned = tune(detector(), feeds(24), goal=base + 1.5, types=["QInt16"], keep_on_device=0, **quiet)
    assert tuned.reached
    overrides = tuned.configuration["extra_options"]["TensorQuantOverrides"]
    reaching = [row for row in tuned.trials if row.score is not None and row.score >= base + 1.5]
    assert len(overrides) == min(len(row.configuration["extra_options"]["TensorQuantOverrides"]) for row in reaching)
    assert all(entry == [{"quant_type": "QInt16"}] for entry in overrides.values())


def test_a_goal_out_of_reach_says_what_stands_in_the_way() -> None:
    tuned = tune(detector(), feeds(4), goal=500.0, budget=1e-3)
    assert not tuned.reached
    assert "goal is 500" in tuned.why_not
    assert "nothing else was tried" in tuned.why_not
    assert len(tuned.trials) == 1


def test_a_metric_of_the_caller_is_given_a_session() -> None:
    def nearness(session: Any) -> float:
        return float(session.run(None, feeds(1)[0])[0][0, 4:].sum())

    tuned = tune(detector(), feeds(4), metric=nearness, goal=0.1, keep_on_device=0, budget="1m")
    assert tuned.reached


def _nan(session: Any) -> float:
    return math.nan


def _raises(session: Any) -> float:
    raise ZeroDivisionError("nothing to divide")


@pytest.mark.parametrize(
    ("metric", "text"),
    [(_nan, "metric _nan gave nan"), (_raises, "metric _raises raised ZeroDivisionError: nothing to divide")],
)
def test_a_metric_that_fails_is_named(metric: Any, text: str) -> None:
    with pytest.raises(CalibrationError, match=text):
        tune(detector(), feeds(2), metric=metric)


def test_a_later_trial_whose_metric_fails_is_a_row() -> None:
    calls = 0

    def sometimes(session: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 2:
            return math.nan
        return float(calls > 2)

    tuned = tune(detector(), feeds(2), metric=sometimes, goal=1.0, budget="1m")
    assert tuned.trials[1].score is None
    assert "gave nan" in tuned.trials[1].failure
    assert tuned.reached


def test_bad_arguments_are_told_before_work(tmp_path: Path) -> None:
    for given, text in (
        ({"metric": "sqrn"}, "did you mean sqnr"),
        ({"budget": "soon"}, "budget takes a time"),
        ({"budget": None}, "budget takes a time"),
        ({"budget": math.nan}, "budget takes a time"),
        ({"keep_on_device": 2}, "share from 0 to 1"),
        ({"keep_on_device": None}, "share from 0 to 1"),
        ({"goal": math.nan}, "goal takes a score"),
        ({"goal": "30"}, "goal takes a score"),
        ({"types": ["QInt61"]}, "QInt61"),
        ({"types": 5}, "types takes a list"),
        ({"extra_options": 5}, "extra_options takes a dict"),
        ({"out": tmp_path}, "is a folder"),
    ):
        with pytest.raises(QuantizationError, match=text):
            tune(detector(), feeds(2), **given)  # type: ignore[arg-type]
    with pytest.raises(CalibrationError, match="no sample"):
        tune(detector(), [])
    other = tmp_path / "x.trials.jsonl"
    for foreign in (b"not ours\n", b"\xff\x00"):
        other.write_bytes(foreign)
        with pytest.raises(OutputError, match="no file of trials"):
            tune(detector(), feeds(2), out=tmp_path / "x.onnx")
        assert other.read_bytes() == foreign


def chain(layers: int) -> ModelProto:
    """Products with an open batch, which the device does not take."""
    steps = " ".join(f"h{at} = MatMul(r{at}, w{at}) r{at + 1} = Relu(h{at})" for at in range(layers))
    weights = {f"w{at}": np.random.default_rng(at).normal(0, 0.4, (16, 16)).astype(np.float32) for at in range(layers)}
    return graph(f"t (float[N, 16] r0) => (float[N, 16] r{layers}) {{ {steps} }}", constants=weights)


def test_a_device_that_takes_nothing_does_not_leave_everything_float() -> None:
    samples = [{"r0": np.random.default_rng(at).standard_normal((4, 16)).astype(np.float32)} for at in range(8)]
    tuned = tune(chain(4), samples, budget="20s")
    assert tuned.trials[0].on_device == 0
    assert tuned.trials[0].score is not None
    assert tuned.trials[0].score < 40
    assert tuned.reached or "the goal is 40" in tuned.why_not
    assert tuned.result.report.quantized


def test_what_quantizes_nothing_is_a_row_that_failed() -> None:
    samples = [{"r0": np.random.default_rng(at).standard_normal((4, 16)).astype(np.float32)} for at in range(8)]
    tuned = tune(chain(2), samples, goal=200, budget="20s")
    assert "nothing of the model would be quantized" in {row.failure for row in tuned.trials}
    assert tuned.result.report.quantized
    assert not tuned.reached
