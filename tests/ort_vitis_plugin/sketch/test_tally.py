"""What a sketch holds does not depend on how the data was split, and comes back from bytes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest

from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.sketch import Sketch, merged
from tests.models.distributions import DISTRIBUTIONS, data
from tests.ort_vitis_plugin.sketch.truth import sketch_of


@pytest.mark.parametrize("size", [100, 200_000])  # by sorting and by table, below and above a piece
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_any_order_and_grouping_of_arrays_gives_the_same_bytes(name: str, size: int) -> None:
    rng = np.random.default_rng(2)
    arrays = [data(name, seed, size + 37 * seed) for seed in range(7)]
    whole = sketch_of(*arrays).to_bytes()
    for groups in (2, 3, 7):
        order = rng.permutation(7)
        parts = [sketch_of(*(arrays[at] for at in group)) for group in np.array_split(order, groups)]
        assert merged(parts).to_bytes() == whole


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_any_split_of_an_array_gives_the_same_integers(name: str) -> None:
    values = data(name, 1, 30_000)
    whole = sketch_of(values)
    for pieces in (2, 7):
        split = sketch_of(*np.array_split(np.random.default_rng(0).permutation(values), pieces))
        for mine, theirs in zip(vars(split.bins).values(), vars(whole.bins).values(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert split.sum_squares == pytest.approx(whole.sum_squares, rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.dtype(">f4")])
def test_other_float_types(dtype: type) -> None:
    values = data("normal", 23).astype(dtype).reshape(40, 100)
    assert sketch_of(values) == sketch_of(values.astype(np.float32))
    np.testing.assert_array_equal(sketch_of(values).bins.counts, sketch_of(values.T).bins.counts)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.bool_, object, "U3"])
def test_what_is_no_float_is_refused(dtype: type) -> None:
    with pytest.raises(CalibrationError, match="float16"):
        Sketch().add(np.zeros(3, dtype))


def test_bytes_come_back_and_bad_ones_are_refused() -> None:
    sketch = sketch_of(data("two scales", 1), np.array([np.nan, np.inf], np.float32))
    stored = sketch.to_bytes()
    assert Sketch.from_bytes(stored) == pickle.loads(pickle.dumps(sketch)) == sketch
    assert pickle.loads(b"cort_vitis_plugin.sketch\nSketch\n.") is Sketch  # as pickles of any release name it
    for bad, words in (
        (b"", "not a sketch"),
        (b"x" * 100, "not a sketch"),
        (stored[:-1], "cut off"),
        (stored[:4] + b"\x09" + stored[5:], "version 9"),
    ):
        with pytest.raises(CalibrationError, match=words):
            Sketch.from_bytes(bad)


def test_what_comes_back_can_be_added_to() -> None:
    first, second = data("normal", 1), data("relu", 2)
    sketch = Sketch.from_bytes(sketch_of(first).to_bytes())
    sketch.add(second)
    assert sketch == sketch_of(first, second)
