"""Random samples in every documented form."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin.data_readers import RandomDataReader
from ort_vitis_plugin.errors import LimitError, OptionError

Build = Callable[..., onnx.ModelProto]

IMAGE = "t (float[N, 3, H, W] image) => (float[N, 3, H, W] y) { y = Relu(image) }"
TWO = """t (float[N, 1, 4, 4] a, float[N, 2, 4, 4] b) => (float[N, 1, 4, 4] y, float[N, 2, 4, 4] z)
    { y = Relu(a) z = Relu(b) }"""
KINDS = """t (float[64] f, int64[64] i, uint8[64] u, bool[64] b, double[64] d, float16[64] h)
    => (float[64] y) { y = Relu(f) }"""


def shapes(reader: RandomDataReader) -> dict[str, tuple[int, ...]]:
    feed = reader.get_next()
    assert feed is not None
    return {name: array.shape for name, array in feed.items()}


@pytest.mark.option("random_data_reader_input_shape")
@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        (IMAGE, None, {"image": (1, 3, 32, 32)}),
        (IMAGE, [], {"image": (1, 3, 32, 32)}),
        (IMAGE, [1, 3, 224, 224], {"image": (1, 3, 224, 224)}),
        (IMAGE, (2, 3, 8, 8), {"image": (2, 3, 8, 8)}),
        (IMAGE, [[1, 3, 8, 8]], {"image": (1, 3, 8, 8)}),
        (IMAGE, {"image": [1, 3, 8, 16]}, {"image": (1, 3, 8, 16)}),
        (TWO, [[1, 1, 4, 4], [2, 2, 4, 4]], {"a": (1, 1, 4, 4), "b": (2, 2, 4, 4)}),
        (TWO, {"b": [5, 2, 4, 4]}, {"a": (1, 1, 4, 4), "b": (5, 2, 4, 4)}),
        (TWO, [[3, 1, 4, 4]], {"a": (3, 1, 4, 4), "b": (1, 2, 4, 4)}),
        (IMAGE, [np.int64(1), 3, 8, 8], {"image": (1, 3, 8, 8)}),
    ],
)
def test_shapes_in_every_documented_form(
    graph: Build, text: str, given: object, expected: dict[str, tuple[int, ...]]
) -> None:
    assert shapes(RandomDataReader(graph(text), given)) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"img": [1, 3, 8, 8]}, "names 'img', but the inputs are image; did you mean image"),
        ([1, 3, 8], "has rank 4"),
        ([1, 3, 0, 8], "positive whole numbers"),
        ([1, 3, "H", 8], "positive whole numbers"),
        ([[1, 3, 8, 8], [1]], "2 shapes for 1 inputs"),
        ("1,3,8,8", "takes a shape"),
    ],
)
def test_wrong_shapes(graph: Build, given: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        RandomDataReader(graph(IMAGE), given)


def test_values_by_type(graph: Build) -> None:
    feed = RandomDataReader(graph(KINDS)).get_next()
    assert feed is not None
    assert {name: str(array.dtype) for name, array in feed.items()} == {
        "f": "float32",
        "i": "int64",
        "u": "uint8",
        "b": "bool",
        "d": "float64",
        "h": "float16",
    }
    for name in "fdh":
        assert 0 <= feed[name].min() < 0.2
        assert 0.8 < feed[name].max() <= 1
    for name in "iub":
        assert set(feed[name].astype(int).tolist()) == {0, 1}


@pytest.mark.option("RandomDataReaderInputDataRange")
@pytest.mark.parametrize("given", [(-4, 4), {"f": (-4, 4), "i": (-4, 4)}])
def test_ranges_for_all_or_by_name(graph: Build, given: object) -> None:
    feed = RandomDataReader(graph(KINDS), None, {"i": (-4, 4), "f": (-4, 4)} if given == (-4, 4) else given).get_next()
    assert feed is not None
    assert -4 <= feed["f"].min() < -3
    assert 3 < feed["f"].max() <= 4
    assert (feed["i"].min(), feed["i"].max()) == (-4, 4)  # both ends
    assert set(feed["u"].tolist()) == {0, 1}


def test_one_range_is_for_all(graph: Build) -> None:
    feed = RandomDataReader(graph(TWO), None, (5, 6)).get_next()
    assert feed is not None
    assert all(5 <= array.min() <= array.max() <= 6 for array in feed.values())


@pytest.mark.parametrize("given", [(4, -4), (1,), {"zz": (0, 1)}, {"f": 3}, "0..1"])
def test_wrong_ranges(graph: Build, given: object) -> None:
    with pytest.raises(OptionError, match="RandomDataReaderInputDataRange"):
        RandomDataReader(graph(KINDS), None, given)


def test_samples_are_seeded_and_come_again(graph: Build) -> None:
    one, two = (RandomDataReader(graph(IMAGE), samples=3) for _ in range(2))
    first = [feed["image"] for feed in one]
    assert len(first) == len(one) == 3
    assert one.get_next() is None
    one.rewind()
    for feed, other, again in zip(first, two, one, strict=True):
        np.testing.assert_array_equal(feed, other["image"])
        np.testing.assert_array_equal(feed, again["image"])
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], next(iter(RandomDataReader(graph(IMAGE), seed=1)))["image"])


def test_constants_that_are_inputs_need_no_sample(graph: Build) -> None:
    model = graph(
        "t (float[1, 3] x, float[3] w) => (float[1, 3] y) { y = Add(x, w) }", constants={"w": np.zeros(3, np.float32)}
    )
    assert list(shapes(RandomDataReader(model))) == ["x"]


@pytest.mark.option("calibration_data_reader")
def test_without_reader_the_report_warns(graph: Build) -> None:
    model = graph("t (float[1, 8] x) => (float[1, 8] y) { y = Sigmoid(x) }")
    report = ort_vitis_plugin.quantize_static(model, None, None).report
    assert any("random data" in note for note in report.notes)


def test_a_sample_beyond_memory_is_refused_before_it_is_drawn(graph: Build) -> None:
    with pytest.raises(LimitError, match=r"a random sample of this model would need .* GiB"):
        RandomDataReader(graph("t (float[1048576, 1048576] x) => (float[N, M] y) { y = Relu(x) }"))


def test_texts_are_empty(graph: Build) -> None:
    feed = RandomDataReader(graph("t (string[2] x) => (string[2] y) { y = Identity(x) }")).get_next()
    assert feed is not None
    assert feed["x"].tolist() == ["", ""]
