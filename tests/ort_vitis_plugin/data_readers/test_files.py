"""Samples from files: .npz, .npy and folders, with one sample at a time and clear refusals."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.data_readers import CalibrationData, calibration_data
from ort_vitis_plugin.errors import CalibrationError

TWO = "t (float[1, 3] a, int64[1] n) => (float[1, 3] y) { m = Cast<to = 1>(n) y = Add(a, m) }"
ONE = "t (float[B, 3] x) => (float[B, 3] y) { y = Relu(x) }"
FOUR = "t (float[4, 3] x) => (float[4, 3] y) { y = Relu(x) }"

Build = Callable[[str], onnx.ModelProto]


def sample_files(path: Path, model: onnx.ModelProto) -> CalibrationData:
    return calibration_data(path).bound_to(model)


def shapes(reader: CalibrationData) -> list[dict[str, tuple[int, ...]]]:
    return [{name: array.shape for name, array in feed.items()} for feed in reader]


def test_npz_has_samples_along_the_first_axis(tmp_path: Path, graph: Build) -> None:
    np.savez(tmp_path / "d.npz", a=np.arange(15, dtype=np.float32).reshape(5, 3), n=np.arange(5))
    reader = sample_files(tmp_path / "d.npz", graph(TWO))
    assert len(reader) == 5
    assert shapes(reader) == [{"a": (1, 3), "n": (1,)}] * 5
    feeds = list(reader)
    np.testing.assert_array_equal(feeds[4]["a"], [[12, 13, 14]])
    np.testing.assert_array_equal(feeds[4]["n"], [4])


def test_npz_with_an_extra_axis_keeps_the_batch(tmp_path: Path, graph: Build) -> None:
    np.savez(tmp_path / "d.npz", x=np.zeros((2, 4, 3), np.float32))
    assert shapes(sample_files(tmp_path / "d.npz", graph(FOUR))) == [{"x": (4, 3)}] * 2


def test_fixed_batches_take_as_many_rows(tmp_path: Path, graph: Build) -> None:
    np.savez(tmp_path / "d.npz", x=np.zeros((8, 3), np.float32))
    assert shapes(sample_files(tmp_path / "d.npz", graph(FOUR))) == [{"x": (4, 3)}] * 2


def test_one_array_needs_no_name(tmp_path: Path, graph: Build) -> None:
    np.savez(tmp_path / "d.npz", np.zeros((3, 3)))
    np.save(tmp_path / "d.npy", np.zeros((3, 3)))
    for name in ("d.npz", "d.npy"):
        feeds = list(sample_files(tmp_path / name, graph(ONE)))
        assert [(feed["x"].shape, feed["x"].dtype) for feed in feeds] == [((1, 3), np.float32)] * 3


def test_folder_holds_a_sample_a_file_in_the_order_of_names(tmp_path: Path, graph: Build) -> None:
    (tmp_path / "in" / ".hidden").mkdir(parents=True)
    np.save(tmp_path / "in" / ".hidden" / "9.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "in" / "3.npy", np.full(3, 3, np.float32))
    for number in (2, 0, 1):
        np.save(tmp_path / f"{number}.npy", np.full((1, 3) if number else (3,), number, np.float32))
    (tmp_path / "notes.txt").write_text("not a sample")
    reader = sample_files(tmp_path, graph(ONE))
    assert [float(feed["x"][0, 0]) for feed in reader] == [0, 1, 2, 3]
    assert shapes(reader) == [{"x": (1, 3)}] * 4


def test_links_are_followed_once(tmp_path: Path, graph: Build) -> None:
    (tmp_path / "data" / "in").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for file in (tmp_path / "data" / "a.npy", tmp_path / "elsewhere" / "b.npy"):
        np.save(file, np.zeros(3, np.float32))
    (tmp_path / "data" / "in" / "up").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "other").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "gone.npy").symlink_to(tmp_path / "nothing.npy")
    assert len(list(sample_files(tmp_path / "data", graph(ONE)))) == 2


def test_reader_rewinds(tmp_path: Path, graph: Build) -> None:
    np.save(tmp_path / "d.npy", np.zeros((2, 3), np.float32))
    reader = sample_files(tmp_path / "d.npy", graph(ONE))
    assert [reader.get_next() is None for _ in range(3)] == [False, False, True]
    reader.rewind()
    assert reader.get_next() is not None


REFUSED = {
    "an input is missing": ({"a": np.zeros((2, 3), np.float32)}, "nothing for the input 'n'"),
    "a name too many": ({"a": np.zeros((2, 3)), "n": np.zeros(2, int), "z": np.zeros(2)}, "holds 'z'"),
    "different counts": ({"a": np.zeros((2, 3)), "n": np.zeros(3, int)}, "different numbers of samples: a 2, n 3"),
    "another kind of number": ({"a": np.zeros((2, 3), int), "n": np.zeros(2, int)}, "but the model takes float32"),
}


@pytest.mark.parametrize(("arrays", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refuses(tmp_path: Path, graph: Build, arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(CalibrationError, match=message):
        list(sample_files(tmp_path / "d.npz", graph(TWO)))


def test_refuses_what_is_no_data(tmp_path: Path, graph: Build) -> None:
    (tmp_path / "d.npz").write_bytes(b"not a zip file")
    (tmp_path / "d.txt").write_text("1 2 3")
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("d.npz", "cannot be read"),
        ("d.txt", "neither .npy nor .npz"),
        ("empty", "holds no .npy or .npz"),
        ("nothing", "does not exist"),
    ):
        with pytest.raises(CalibrationError, match=message):
            sample_files(tmp_path / name, graph(ONE))


def test_refuses_a_ragged_last_batch(tmp_path: Path, graph: Build) -> None:
    np.save(tmp_path / "d.npy", np.zeros((6, 3), np.float32))
    with pytest.raises(CalibrationError, match="no batches of 4"):
        sample_files(tmp_path / "d.npy", graph(FOUR))


def test_pickles_are_not_opened(tmp_path: Path, graph: Build) -> None:
    np.save(tmp_path / "d.npy", np.array([{"x": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(CalibrationError, match=r"cannot be read: .* holds Python objects$"):
        sample_files(tmp_path / "d.npy", graph(ONE))
