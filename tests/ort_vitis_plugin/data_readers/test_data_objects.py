"""Samples in any form: the same bytes from each, nothing of the caller's changed, and one line for what is none."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin import calibration_data
from ort_vitis_plugin.data_readers import Samples
from ort_vitis_plugin.data_readers.data_objects import RestWarning
from ort_vitis_plugin.errors import CalibrationError, OptionError, OptionTypeError
from tests.models.networks import FeedReader

Build = Callable[[str], onnx.ModelProto]

ONE = "t (float[1, 3] x) => (float[1, 3] y) { y = Tanh(x) }"
FREE = "t (float[N, 3] x) => (float[N, 3] y) { y = Tanh(x) }"
FOUR = "t (float[4, 3] x) => (float[4, 3] y) { y = Tanh(x) }"
TWO = "t (float[1, 3] a, float[1, 3] b) => (float[1, 3] y) { y = Add(a, b) }"
DATA = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
ROWS = [{"x": row[None]} for row in DATA]


class Tensor:
    """What torch's tensors have: no array until they are detached and on the CPU."""

    def __init__(self, array: np.ndarray, *, bare: bool = False) -> None:
        self.array, self.bare, self.shape, self.dtype = array, bare, array.shape, f"torch.{array.dtype}"

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return Tensor(self.array, bare=True)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(self.array[key])

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        assert self.bare, "requires grad or lies on the GPU"
        return self.array if dtype is None else self.array.astype(dtype)


class Loader:
    """An iterable with a length and no index, as torch's DataLoader is."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Table:
    """A data set of dicts with columns, as those of Hugging Face are."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.column_names = rows, list(rows[0])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return self.rows[number]


def saved(folder: Path, kind: str) -> Path:
    if kind == "npy":
        np.save(folder / "d.npy", DATA)
        return folder / "d.npy"
    if kind == "npz":
        np.savez(folder / "d.npz", x=DATA)
        return folder / "d.npz"
    for number, row in enumerate(DATA):
        (folder / "samples" / f"{number // 3}").mkdir(parents=True, exist_ok=True)
        np.save(folder / "samples" / f"{number // 3}" / f"{number}.npy", row)
    return folder / "samples"


SOURCES: dict[str, Callable[[Path], Any]] = {
    ".npy": lambda folder: saved(folder, "npy"),
    ".npz": lambda folder: str(saved(folder, "npz")),
    "a folder of folders": lambda folder: saved(folder, "folder"),
    "one array": lambda _: DATA,
    "one tensor": lambda _: Tensor(DATA),
    "a list of arrays": lambda _: [row[None] for row in DATA],
    "a list of arrays without the batch axis": lambda _: list(DATA),
    "a deque of arrays": lambda _: deque([DATA[:2], DATA[2:]]),
    "a dict of arrays": lambda _: {"x": DATA},
    "a list of dicts": lambda _: ROWS,
    "a generator of dicts": lambda _: iter(ROWS),
    "a generator of arrays": lambda _: (row for row in DATA),
    "a loader of x": lambda _: Loader([Tensor(DATA[:4]), Tensor(DATA[4:])]),
    "a loader of (x, y)": lambda _: Loader(
        [[Tensor(DATA[:3]), Tensor(np.arange(3))], [Tensor(DATA[3:]), np.arange(3)]]
    ),
    "a loader of dicts": lambda _: Loader([{"x": Tensor(row), "labels": Tensor(np.array(1))} for row in DATA]),
    "a table": lambda _: Table([{"pixels": row.tolist(), "label": 1} for row in DATA]),
    "a table with other columns": lambda _: Table([{"x": row.tolist(), "id": 7, "text": "a"} for row in DATA]),
    "a reader": lambda _: FeedReader(ROWS),
    "a function that makes a generator": lambda _: lambda: (row for row in DATA),
    "a function that makes a reader": lambda _: lambda: FeedReader(ROWS),
    "calibration_data": lambda _: calibration_data(DATA),
}


@pytest.fixture(scope="module")
def expected() -> bytes:
    from ort_vitis_plugin.testing import graph as build

    return ort_vitis_plugin.quantize_static(build(ONE), None, ROWS).model.SerializeToString()


@pytest.mark.parametrize("kind", SOURCES)
def test_data_objects_give_the_same_bytes(kind: str, tmp_path: Path, graph: Build, expected: bytes) -> None:
    result = ort_vitis_plugin.quantize_static(graph(ONE), None, SOURCES[kind](tmp_path))
    assert result.model.SerializeToString() == expected


def test_calibrate_takes_them_too(graph: Build) -> None:
    found = ort_vitis_plugin.calibrate(graph(ONE), DATA)
    assert found.samples == len(DATA)


def feeds(source: Any, model: onnx.ModelProto, **arguments: Any) -> list[np.ndarray]:
    return [feed["x"] for feed in calibration_data(source, **arguments).bound_to(model)]


def test_the_callers_objects_stay_as_they_are(graph: Build) -> None:
    def in_place(row: np.ndarray) -> np.ndarray:
        row *= 0
        return row

    data, table = DATA.copy(), [{"x": DATA[0].copy()}]
    assert not np.any(feeds(data, graph(FREE), transform=in_place))
    feeds(table, graph(FREE), transform=lambda row: {"x": in_place(row["x"])[None]})
    np.testing.assert_array_equal(data, DATA)
    np.testing.assert_array_equal(table[0]["x"], DATA[0])
    reader = calibration_data(data)
    reader.bound_to(graph(FREE))
    with pytest.raises(CalibrationError, match="inputs='NAME'"):
        reader.get_next()


def test_readers_rewind_where_their_source_does(graph: Build) -> None:
    for source in (DATA, ROWS, FeedReader(ROWS), Loader(list(DATA)), lambda: iter(DATA)):
        reader = calibration_data(source).bound_to(graph(ONE))
        passes = []
        for _ in range(2):
            passes.append([feed["x"].tolist() for feed in iter(reader.get_next, None)])
            reader.rewind()
        assert passes == [DATA[:, None].tolist()] * 2
    with pytest.raises(NotImplementedError, match="only once"):
        calibration_data(iter(ROWS)).rewind()


def test_unbound_readers_name_what_they_are_told_to() -> None:
    """So they serve onnxruntime's own quantize_static."""
    for source in (DATA, {"x": DATA}, [row[None] for row in DATA]):
        found = list(calibration_data(source, inputs=None if isinstance(source, dict) else "x"))
        assert [list(feed) for feed in found] == [["x"]] * 6
        np.testing.assert_array_equal(np.concatenate([feed["x"] for feed in found]), DATA)


def test_limit_draws_with_the_seed_where_the_number_is_known(graph: Build) -> None:
    model = graph(ONE)
    some = [feeds(DATA, model, limit=3, seed=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(some[0], some[1])
    assert len(some[0]) == 3
    assert not np.array_equal(some[0], some[2])
    source = iter(DATA)
    np.testing.assert_array_equal(np.concatenate(feeds(source, model, limit=2)), DATA[:2])
    assert next(source) is not None  # nothing more was read
    assert len(calibration_data(DATA, limit=4)) == 4


def test_batches(graph: Build) -> None:
    assert [len(x) for x in feeds(DATA, graph(FREE))] == [1] * 6
    assert [len(x) for x in feeds(DATA, graph(FREE), batch=4)] == [4, 2]
    assert [len(x) for x in feeds(Loader([DATA[:4], DATA[4:]]), graph(FREE))] == [4, 2]
    assert [len(x) for x in feeds(Loader([DATA[:4], DATA[4:]]), graph(ONE))] == [1] * 6
    with pytest.warns(RestWarning, match="last 2 samples fill no batch of 4"):
        joined = feeds(iter(DATA), graph(FOUR))
    np.testing.assert_array_equal(joined, [DATA[:4]])
    with pytest.raises(CalibrationError, match="no batches of 4"):
        feeds(DATA, graph(FOUR))
    with pytest.raises(CalibrationError, match="the 3 samples fill no batch of 4"):
        feeds(list(DATA[:3]), graph(FOUR))
    with pytest.raises(CalibrationError, match="batch=2, but the model takes batches of 4"):
        feeds(DATA, graph(FOUR), batch=2)


def test_labels_stay_beside_their_rows(graph: Build) -> None:
    loader = Loader([(DATA[:4], np.arange(4)), (DATA[4:], np.arange(4, 6))])
    for batch in (None, 1, 3, 5):
        found = list(calibration_data(loader, batch=batch).bound_to(graph(FREE)).labelled())
        assert np.concatenate([label for _, label in found]).tolist() == list(range(6))
        np.testing.assert_array_equal(np.concatenate([feed["x"] for feed, _ in found]), DATA)


def test_inputs_name_what_the_source_calls_otherwise(graph: Build) -> None:
    model = graph(TWO)
    table = Table([{"left": DATA[0], "right": DATA[1], "label": 0}])
    feed = calibration_data(table, inputs={"a": "left", "b": "right"}).bound_to(model).get_next()
    assert feed is not None
    np.testing.assert_array_equal(feed["b"], DATA[1][None])
    pairs = Loader([(DATA[:1], DATA[1:2], np.arange(1))])
    turned = calibration_data(pairs, inputs=["b", "a"]).bound_to(model).get_next()
    assert turned is not None
    np.testing.assert_array_equal(turned["a"], DATA[1][None])


def test_types_that_fit_are_taken(graph: Build) -> None:
    wide = DATA.astype(np.float64)
    assert {x.dtype for x in feeds(wide, graph(ONE))} == {np.dtype(np.float32)}
    swapped = DATA.astype(">f4")
    np.testing.assert_array_equal(np.concatenate(feeds(swapped, graph(ONE))), DATA)
    pixels = graph("t (uint8[1, 3] x) => (float[1, 3] y) { y = Cast<to = 1>(x) }")
    assert feeds(np.arange(3)[None], pixels)[0].dtype == np.uint8
    with pytest.raises(CalibrationError, match="is int64, but the model takes uint8; its values do not fit"):
        feeds(np.full((1, 3), 256), pixels)


REFUSED: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "pixels for floats": (ONE, np.zeros((2, 3), np.uint8), {}, "uint8, but the model takes float32; say how with"),
    "no array": (ONE, [None, None], {}, "'x' in sample 0 is NoneType, not an array"),
    "text": (ONE, ["a", "b"], {}, "is text"),
    "ragged": (ONE, [[[1, 2], [3]]], {}, "is no array"),
    "an empty path": (ONE, "", {}, "the samples are an empty path; give a path"),
    "bytes": (ONE, b"abc", {}, "the samples are bytes; give a path"),
    "labels alone": (ONE, [{"label": 1}], {}, "sample 0 holds label, but nothing for the input 'x'"),
    "a ragged dict": (ONE, {"x": [[1], [2, 3]]}, {}, "'x' is no array"),
    "a transform that returns nothing": (
        ONE,
        DATA,
        {"transform": lambda _: None},
        "transform returns NoneType for row 0",
    ),
    "a transform that returns text": (ONE, DATA, {"transform": str}, "transform returns str"),
    "too many parts": (ONE, [(DATA[:1],) * 3], {}, r"holds 3 parts, but the model takes x; say inputs=\[...\]"),
    "one array for two inputs": (TWO, DATA, {}, "row 0 holds one array, but the model takes a, b"),
    "no such column": (
        ONE,
        Table([{"a": DATA[0], "b": DATA[1]}]),
        {},
        r"nothing for the input 'x'; say inputs=\{'x': 'a'\}",
    ),
    "no such input": (ONE, DATA, {"inputs": "X"}, "inputs names 'X', but the model's are x; did you mean x"),
    "a scalar": (ONE, np.float32(1), {}, "has no axis that counts samples"),
    "a number": (ONE, 3, {}, "the samples are int; give a path"),
    "a misspelt path": (ONE, "tests/mdels", {}, "does not exist; did you mean models"),
    "a function that makes none": (ONE, lambda: 3, {}, "the function makes int of samples; it must make a path"),
    "a path with a zero": (ONE, "a\0b", {}, "cannot be read|does not exist"),
    "a path too long": (ONE, "a" * 5000, {}, "cannot be read|does not exist"),
    "a path in no encoding": (ONE, "\udcff.npy", {}, "cannot be read|does not exist"),
    "a dict of text": (ONE, {"x": "imgs"}, {}, "'x' of the samples is str"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_in_one_line(case: str, graph: Build) -> None:
    model, source, arguments, message = REFUSED[case]
    with pytest.raises(CalibrationError, match=message):
        list(calibration_data(source, **arguments).bound_to(graph(model)))


def test_refuses_arguments(graph: Build) -> None:
    for name in ("limit", "batch"):
        for value in (0, True, "3"):
            with pytest.raises(OptionError, match=f"{name} is a whole number"):
                calibration_data(DATA, **{name: value})
    with pytest.raises(OptionTypeError, match="transform is a function"):
        calibration_data(DATA, transform=3)  # type: ignore[arg-type]
    with pytest.raises(OptionTypeError, match="inputs is a name"):
        calibration_data(DATA, inputs=3)  # type: ignore[arg-type]


def test_an_error_of_the_transform_stays_its_own(graph: Build) -> None:
    def broken(row: Any) -> Any:
        raise KeyError("pixel")

    with pytest.raises(KeyError) as caught:
        feeds(DATA, graph(ONE), transform=broken)
    assert caught.value.__notes__ == ["raised by the transform of row 0"]


def test_onnxruntimes_own_door_takes_them(graph: Build, tmp_path: Path) -> None:
    """Plain calls a reader that names its inputs; calls of ours whatever our door takes."""
    from onnxruntime.quantization import quantize_static

    made = []
    for number, (source, options) in enumerate(
        (
            (FeedReader(ROWS), {}),
            (calibration_data(DATA, inputs="x"), {}),
            (FeedReader(ROWS), {"Target": "cpu"}),
            (DATA, {"Target": "cpu"}),
        )
    ):
        quantize_static(graph(ONE), str(tmp_path / f"{number}.onnx"), source, extra_options=options)
        made.append((tmp_path / f"{number}.onnx").read_bytes())
    assert made[0] == made[1]
    assert made[2] == made[3]


def test_data_sets_are_read_by_index_and_never_before(graph: Build) -> None:
    """Workers read their own part of them."""

    class Set:
        def __len__(self) -> int:
            return len(DATA)

        def __getitem__(self, number: int) -> Any:
            read.append(number)
            return Tensor(DATA[number]), number

    read: list[int] = []
    samples = Samples(Set(), graph(ONE))
    assert (read, len(samples)) == ([], len(DATA))
    np.testing.assert_array_equal(samples.reader[4]["x"], DATA[4][None])
    assert read == [4]


def test_what_cannot_be_compared_is_refused_by_its_type() -> None:
    class Incomparable:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no comparison")

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(CalibrationError, match="the samples are Incomparable"):
        calibration_data(Incomparable())


def test_a_transform_beside_a_preprocess_function_is_one_too_many(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image").new("RGB", (4, 4)).save(tmp_path / "a.png")
    with pytest.raises(OptionError, match="leave out transform"):
        calibration_data(ort_vitis_plugin.Pictures(tmp_path, preprocess=np.asarray), transform=np.asarray)


def test_inputs_without_a_common_axis_are_told_and_not_joined(graph: Build) -> None:
    rows = [{"a": np.zeros((1, 3), np.float32), "b": np.zeros((2, 3), np.float32)}] * 2
    model = graph("t (float[2, 3] a, float[2, 3] b) => (float[2, 3] y) { y = Add(a, b) }")
    with pytest.raises(CalibrationError, match=r"a with shape \[1, 3\], but the model takes \[2, 3\]"):
        list(Samples(calibration_data(iter(rows), batch=2), model))
