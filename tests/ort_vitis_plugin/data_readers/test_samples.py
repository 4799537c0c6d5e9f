"""The checks of a caller's samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin.data_readers import Samples
from ort_vitis_plugin.errors import CalibrationError

Build = Callable[..., onnx.ModelProto]

ONE = "t (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }"
ROW = np.zeros((1, 3), np.float32)


class Endless:
    def get_next(self) -> Any:
        return [1, 2]


BAD_READERS: dict[str, tuple[Any, str]] = {
    "nothing": ([], "no sample"),
    "no reader": (3, "are int; give a path"),
    "no dict": (Endless(), "yields list, not"),
    "no array in a dict": ({"x": "y"}, "'x' of the samples is str, not an array"),
    "wrong name": ([{"X": ROW}], "feeds 'X', but the model's inputs are x; did you mean x"),
    "missing input": ([{}], "does not feed the input 'x'"),
    "wrong rank": ([{"x": ROW[0]}], r"shape \[3\], but the model takes \['N', 3\]"),
    "wrong size": ([{"x": np.zeros((1, 4), np.float32)}], r"shape \[1, 4\]"),
    "wrong dtype": ([{"x": np.zeros((1, 3))}], r"as float64, but the model takes float32; convert with .astype"),
}


@pytest.mark.parametrize(("given", "message"), BAD_READERS.values(), ids=BAD_READERS.keys())
def test_bad_readers(graph: Build, given: Any, message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        ort_vitis_plugin.quantize_static(graph(ONE), None, given)


def test_samples_take_get_next_iterables_and_lists(graph: Build, reader: Callable[..., Any]) -> None:
    feeds = [{"x": ROW + number} for number in range(3)]
    for source in (reader(feeds), feeds, iter(feeds), tuple(feeds)):
        found = [float(feed["x"][0, 0]) for feed in Samples(source, graph(ONE))]
        assert found == [0, 1, 2]


def test_samples_are_copies_and_the_first_are_remembered(graph: Build) -> None:
    feed = {"x": ROW}
    samples = Samples([feed] * 5, graph(ONE), remember=2)
    for found in samples:
        found["y"] = ROW
    assert feed == {"x": ROW}
    assert len(samples.remembered) == 2
    assert len(samples) == 5


def test_ragged_batches_pass(graph: Build) -> None:
    feeds = [{"x": np.ones((rows, 3), np.float32)} for rows in (4, 4, 2)]
    result = ort_vitis_plugin.quantize_static(graph(ONE), None, feeds)
    assert result.report.sqnr["y"] > 20
