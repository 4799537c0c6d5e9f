"""The checks of a caller's samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
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
    "missing input": ([{}], "does not feed the input 'x'; it feeds none"),
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


LATER: dict[str, tuple[Any, str]] = {
    "big-endian": (ROW.astype(">f4"), r"sample 1: .* as >f4, but the model takes float32 in this machine's byte order"),
    "float64": (ROW.astype(np.float64), "sample 1: .* as float64"),
    "wrong size": (np.zeros((1, 4), np.float32), r"sample 1: .* shape \[1, 4\]"),
    "wrong rank": (ROW[0], r"sample 1: .* shape \[3\]"),
    "no array": ([[1.0, 2.0, 3.0], [1.0]], "sample 1: .* which is no array"),
}


@pytest.mark.parametrize("case", LATER)
@pytest.mark.parametrize("call", ["quantize_static", "calibrate", "with a checkpoint"])
def test_every_sample_is_checked(graph: Build, case: str, call: str, tmp_path: Path) -> None:
    array, message = LATER[case]
    feeds = iter([{"x": ROW + 1}, {"x": array}, {"x": ROW}])
    arguments: dict[str, Any] = {"checkpoint": tmp_path / "c"} if call == "with a checkpoint" else {}
    door: Any = ort_vitis_plugin.calibrate
    if call == "quantize_static":
        door, arguments = ort_vitis_plugin.quantize_static, {"model_output": None}
    with pytest.raises(CalibrationError, match=message):
        door(graph(ONE), calibration_data_reader=Given(feeds), **arguments)


class Given:
    """A reader, whose samples nobody converts."""

    def __init__(self, feeds: Any) -> None:
        self.feeds = feeds

    def get_next(self) -> Any:
        return next(self.feeds, None)


def test_what_the_model_leaves_open_is_as_in_the_first_sample(graph: Build) -> None:
    source = graph("t (float x) => (float y) { y = Relu(x) }")
    source.graph.input[0].type.tensor_type.ClearField("shape")
    source.graph.output[0].type.tensor_type.ClearField("shape")
    feeds = [{"x": np.zeros((2, 3), np.float32)}, {"x": np.zeros(3, np.float32)}]
    with pytest.raises(CalibrationError, match=r"sample 1: .* of 1 axes, but the first sample was .* of 2 axes"):
        list(Samples(feeds, source))


class Refilling:
    """A reader that fills one array again and again."""

    def __init__(self, values: list[float]) -> None:
        self.values, self.at, self.array = values, 0, np.zeros((1, 3), np.float32)

    def get_next(self) -> Any:
        if self.at == len(self.values):
            return None
        self.array[:] = self.values[self.at]
        self.at += 1
        return {"x": self.array}

    def rewind(self) -> None:
        self.at = 0


def test_remembered_samples_are_copies_and_do_not_grow(graph: Build) -> None:
    samples = Samples(Refilling([1, 2, 3]), graph(ONE), remember=2)
    for _ in range(3):
        samples.rewind()
        assert [float(feed["x"][0, 0]) for feed in samples] == [1, 2, 3]
    assert [float(feed["x"][0, 0]) for feed in samples.some(2)] == [1, 2]


@pytest.mark.parametrize("arguments", [{}, {"checkpoint": "c", "checkpoint_every": 2}, {"executor": True}], ids=str)
def test_a_reader_that_refills_one_array(
    graph: Build, arguments: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "executor" in arguments:
        arguments = {"executor": ThreadPoolExecutor(1)}
    found = ort_vitis_plugin.calibrate(graph(ONE), Refilling([1, 5, 2]), **arguments)
    assert (found.sketches["x"].minimum, found.sketches["x"].maximum, found.sketches["x"].sum) == (1, 5, 24)


def test_a_reader_whose_rewind_does_nothing_is_read_once(graph: Build) -> None:
    class Once:
        def __init__(self) -> None:
            self.rest = [{"x": ROW}]

        def get_next(self) -> Any:
            return self.rest.pop() if self.rest else None

        def rewind(self) -> None:
            raise NotImplementedError

    samples = Samples(Once(), graph(ONE))
    assert len(list(samples)) == 1
    assert not samples.rewind()


def test_every_sample_is_checked_not_only_the_first(graph: Build) -> None:
    whole = graph("t (float[N, 3] x, string[N] s) => (float[N, 3] y, string[N] z) { y = Relu(x) z = Identity(s) }")
    whole.graph.input[0].type.tensor_type.ClearField("shape")
    good = {"x": ROW, "s": np.array(["a"], object)}
    for bad, text in (
        ({"x": ROW.astype(">f4")}, "sample 1: the reader feeds x as >f4, but .* in this machine's byte order"),
        ({"x": ROW[0]}, r"sample 1: the reader feeds x as float32 .* of 1 axes, but the first sample was .* of 2 axes"),
        ({"s": np.array([["a"]], object)}, "sample 1: the reader feeds s with shape"),
        ({"x": [[1], [2, 3]]}, "sample 1: the reader feeds x as list, which is no array"),
    ):
        with pytest.raises(CalibrationError, match=text):
            list(Samples([good, good | bad], whole))
    assert len(list(Samples([good, good], whole))) == 2


def test_inputs_that_are_no_tensors_and_defaults_are_taken(graph: Build) -> None:
    whole = graph("t (float[N, 3] x) => (float[N, 3] y) { y = Add(x, w) }", 17, {"w": ROW})
    whole.graph.input.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [1, 3]))
    whole.graph.input.append(onnx.helper.make_tensor_sequence_value_info("s", onnx.TensorProto.FLOAT, None))
    feeds = [{"x": ROW, "w": ROW, "s": [ROW]}]
    assert [sorted(feed) for feed in Samples(feeds, whole)] == [["s", "w", "x"]]


def test_an_empty_sample_ends_a_reader(graph: Build) -> None:
    class Reader:
        feeds = iter([{"x": ROW}, {}, {"x": ROW}])

        def get_next(self) -> Any:
            return next(self.feeds, None)

    assert len(list(Samples(Reader(), graph(ONE)))) == 1


def test_what_a_function_makes_must_be_readable(graph: Build) -> None:
    class Five:
        def __new__(cls) -> Any:
            return 5

        def get_next(self) -> Any: ...

    with pytest.raises(CalibrationError, match="calibration_data_reader is int; give"):
        list(Samples(Five, graph(ONE)))
    with pytest.raises(CalibrationError, match="the function makes int of samples"):
        list(Samples(lambda: 5, graph(ONE)))
