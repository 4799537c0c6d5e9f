"""A third party's calibrater is fed sample by sample, and what it gives is checked."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin.errors import PluginError
from ort_vitis_plugin.pipeline.calibrater_feed import CalibraterFeed, OneSample, calibrater_beside
from ort_vitis_plugin.sketch import Sketch
from ort_vitis_plugin.testing import graph, plain_context


class Mine:
    """A calibrater that keeps what it is fed."""

    def __init__(self, ranges: dict[str, Any]) -> None:
        self.seen: list[Any] = []
        self.given = ranges

    def collect_data(self, reader: OneSample) -> None:
        self.seen += list(reader)

    def compute_data(self) -> dict[str, Any]:
        return self.given


def feed(**ranges: Any) -> tuple[CalibraterFeed, Mine]:
    calibrater = Mine(ranges)
    context = plain_context()
    return CalibraterFeed(context, context.method, calibrater), calibrater  # type: ignore[arg-type]


def counted(*values: float) -> Sketch:
    sketch = Sketch()
    sketch.add(np.float32(values))
    return sketch


def test_it_sees_the_sample_that_passed() -> None:
    fed, calibrater = feed()
    for _ in fed.passing([{"x": np.float32([1])}, {"x": np.float32([2])}]):
        fed.collect()
    assert [sample["x"].tolist() for sample in calibrater.seen] == [[1], [2]]


def test_ranges_of_counted_tensors_are_taken() -> None:
    fed, _ = feed(x=(-1, 2), other=(0, 1), y=(np.float32([-3, -4]), np.float32([1, 5])))
    assert fed.ranges({"x": counted(1), "y": counted(1)}) == {"x": (-1.0, 2.0), "y": (-4.0, 5.0)}


@pytest.mark.parametrize("wrong", [5, ("a", "b"), (2, 1), (0, np.inf), (np.nan, 1)])
def test_what_is_no_range_is_the_plugins_error(wrong: object) -> None:
    fed, _ = feed(x=wrong)
    with pytest.raises(PluginError, match="Mine gives"):
        fed.ranges({"x": counted(1)})


def test_what_is_left_out_is_noted() -> None:
    fed, _ = feed()
    assert fed.ranges({"x": counted(1), "empty": Sketch()}) == {}
    assert any("Mine gave no range of x" in note for note in fed._call.report.notes)


def test_other_methods_have_none() -> None:
    with calibrater_beside(plain_context(), graph("t (float[1] x) => (float[1] y) { y = Relu(x) }")) as found:
        assert found is None


def test_a_reader_of_one_sample() -> None:
    one = OneSample({"x": np.zeros(1)})
    assert len(one) == 1
    assert one.get_next() is not None
    assert one.get_next() is None
