"""What chooses ranges and what judges are different samples, and one calibration serves all trials."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.testing import graph, random_feeds
from ort_vitis_plugin.trials import bench
from ort_vitis_plugin.trials.bench import Bench, split_of

OPTIONS = {"extra_options": {"Target": "cpu"}}


def model() -> ModelProto:
    text = "t (float[1, 4] x) => (float[1, 3] y) { [g] h = Gemm(x, w)  [r] y = Relu(h) }"
    return graph(text, constants={"w": np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)})


def feeds(count: int) -> list[dict[str, Any]]:
    return [random_feeds(model(), seed) for seed in range(count)]


@pytest.mark.parametrize("count", [2, 5])
def test_every_second_sample_judges(count: int) -> None:
    split = split_of(feeds(count), model())
    assert (len(split.choosing), len(split.judging)) == ((count + 1) // 2, count // 2)
    assert split.is_held_out
    for found, expected in zip(split.all(), feeds(count), strict=True):
        np.testing.assert_array_equal(found["x"], expected["x"])


def test_one_sample_does_both_and_none_is_refused() -> None:
    assert not split_of(feeds(1), model()).is_held_out
    with pytest.raises(CalibrationError, match="there is no sample"):
        split_of([], model())


def test_exchanged_halves_judge_what_chose_and_choose_what_judged() -> None:
    split = split_of(feeds(4), model())
    assert (split.share, split_of(feeds(1), model()).share) == (0.5, 1.0)
    one, other = Bench(model(), split, "sqnr"), Bench(model(), split.exchanged(), "sqnr")
    assert one.can_exchange
    assert one.exchanged(OPTIONS) == other.tried("as asked for", OPTIONS).score
    assert one.exchanged(OPTIONS) != one.tried("as asked for", OPTIONS).score
    assert one.exchanged({**OPTIONS, "nodes_to_exclude": ["nowhere"]}) is None


def test_one_sample_and_a_metric_of_the_caller_have_no_other_half() -> None:
    assert not Bench(model(), split_of(feeds(1), model()), "sqnr").can_exchange
    assert not Bench(model(), split_of(feeds(4), model()), lambda session: 1.0).can_exchange


def test_trials_share_a_calibration_and_a_refusal_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(*arguments: Any, **keywords: Any) -> Any:
        made.append(keywords)
        return calibrate(*arguments, **keywords)

    calibrate = bench.calibrate
    monkeypatch.setattr(bench, "calibrate", counted)
    found = Bench(model(), split_of(feeds(4), model()), "sqnr")
    first = found.tried("as asked for", OPTIONS)
    second = found.tried("by channel", {**OPTIONS, "per_channel": True}, first)
    assert len(made) == 1
    assert first.score is not None
    assert second.gain == (second.score or 0) - first.score
    assert set(found.on_device(OPTIONS)) <= {"g", "r"}
    refused = found.tried("unknown", {**OPTIONS, "nodes_to_exclude": ["nowhere"]}, first)
    assert refused.score is None
    assert "no node 'nowhere'" in refused.failure
