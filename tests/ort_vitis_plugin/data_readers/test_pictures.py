"""Pictures become what a network was trained on, or one line says what it takes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin import Pictures, calibration_data
from ort_vitis_plugin.data_readers import Feed
from ort_vitis_plugin.data_readers.pictures import BrokenPictureWarning
from ort_vitis_plugin.errors import CalibrationError, OptionError
from tests.ort_vitis_plugin.data_readers.drawings import (
    FREE,
    LAST,
    PIXELS,
    RGB,
    Build,
    Made,
    feeds,
    pixels,
)

GRAY = "t (float[1, 1, 8, 8] x) => (float[1, 1, 8, 8] y) { y = Tanh(x) }"


HALVES = "t (float16[1, 3, 8, 8] x) => (float16[1, 3, 8, 8] y) { y = Tanh(x) }"


SIGNED = "t (int8[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) { y = Cast<to = 1>(x) }"


FLAT = "t (float[1, 9] x) => (float[1, 9] y) { y = Tanh(x) }"


FOUR = "t (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) { y = Tanh(x) }"


def test_a_folder_needs_no_word_where_the_model_says_it_all(made: Made, graph: Build) -> None:
    folder = made({f"deep/{kind}.{kind}": pixels() for kind in ("png", "bmp", "webp")} | {"deep/notes.txt": b"text"})
    found = feeds(folder, graph(RGB))
    assert [(x.shape, x.dtype) for x in found] == [((1, 3, 8, 8), np.dtype(np.float32))] * 3
    expected = pixels().transpose(2, 0, 1)[None].astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(found[0], expected)  # bmp comes first


def test_quantize_static_takes_the_folder(made: Made, graph: Build) -> None:
    folder = made({f"{number}.png": pixels(seed=number) for number in range(3)})
    array = np.stack([pixels(seed=number) for number in range(3)]).transpose(0, 3, 1, 2).astype(np.float32) / 255
    models = [
        ort_vitis_plugin.quantize_static(graph(RGB), None, source).model.SerializeToString()
        for source in (folder, Pictures(folder), array)
    ]
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize("model", [LAST, PIXELS, HALVES, GRAY])
def test_layout_type_and_color_follow_the_model(model: str, made: Made, graph: Build) -> None:
    (found,) = feeds(made({"a.png": pixels()}), graph(model))
    value = graph(model).graph.input[0].type.tensor_type
    assert list(found.shape) == [dim.dim_value for dim in value.shape.dim]
    assert found.dtype == onnx.helper.tensor_dtype_to_np_dtype(value.elem_type)
    if model == PIXELS:
        np.testing.assert_array_equal(found[0], pixels().transpose(2, 0, 1))


def test_broken_pictures_are_named_and_left_out(made: Made, graph: Build) -> None:
    folder = made({"a.png": pixels(), "b.png": b"not a picture", "c.jpg": b""})
    reader = calibration_data(Pictures(folder)).bound_to(graph(RGB))
    with pytest.warns(BrokenPictureWarning) as told:
        assert len(list(reader)) == 1
    assert [Path(str(each.message).split("'")[1]).name for each in told] == ["b.png", "c.jpg"]
    assert str(told[0].message).endswith("b.png' cannot be read: it is no picture; it is left out")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        assert len(list(reader)) == 1
    too_many = r"2 pictures cannot be read, and 1 may be: .*b.png.*c.jpg.* broken=2"
    with pytest.raises(CalibrationError, match=too_many):
        feeds(Pictures(folder, broken=1), graph(RGB))
    with pytest.raises(CalibrationError, match=r"no picture of .* can be read .*; give files that open as"):
        feeds(folder / "b.png", graph(RGB))


@pytest.mark.parametrize("cut", [50, 100, 150, 170])
@pytest.mark.parametrize("kind", ["png", "jpg", "webp", "bmp"])
def test_whatever_is_cut_off_is_told_or_read(kind: str, cut: int, made: Made, graph: Build) -> None:
    folder = made({f"a.{kind}": pixels(), "b.png": pixels()})
    file = folder / f"a.{kind}"
    file.write_bytes(file.read_bytes()[:cut])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrokenPictureWarning)
        assert len(feeds(folder, graph(RGB))) in (1, 2)


def test_class_folders_are_labels(made: Made, graph: Build) -> None:
    folder = made({f"{name}/{number}.png": pixels() for name in ("cat", "ant") for number in range(2)})
    pictures = Pictures(folder)
    assert (pictures.classes, pictures.labels) == (("ant", "cat"), (0, 0, 1, 1))
    assert Pictures(folder, classes=["cat", "dog", "ant"]).labels == (2, 2, 0, 0)
    found = calibration_data(pictures, limit=3).bound_to(graph(RGB)).labelled()
    assert [label.tolist() for _, label in found if label is not None] in ([[0], [0], [1]], [[0], [1], [1]])
    with pytest.raises(CalibrationError, match=r"'cat' of .* is none of the classes car, ant; did you mean car"):
        Pictures(folder, classes=["car", "ant"])


def test_folders_that_are_numbers_are_the_classes(made: Made) -> None:
    folder = made({f"{number}/a.png": pixels() for number in (0, 2, 10)})
    assert Pictures(folder).labels == (0, 10, 2)  # in the order of the files
    assert Pictures(made({"flat.png": pixels()})).labels is None


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "size": (RGB, {}, r"a.png' is 10x12 .* becomes 10x12, but the model takes 8x8; say size=8, resize='stretch' "),
    "size after shortest": (RGB, {"size": 8}, r"becomes 8x9, but the model takes 8x8"),
    "crop": (RGB, {"crop": 9}, r"x takes pictures of 8x8 .* but crop=9 makes 9x9; say crop=8 \(--crop 8\)"),
    "stretch": (RGB, {"size": (8, 9)}, r"but size=\(8, 9\) makes 8x9; say size=8, resize='stretch'"),
    "too small for the crop": (FREE, {"crop": 224}, r"10x12 .* before the crop of 224x224; say size=224 or more"),
    "channels": (GRAY, {"color": "RGB"}, r"takes float32 \[1, 1, 8, 8\]: 1 channels in NCHW, .* say color='L'"),
    "channels of the other layout": (RGB, {"layout": "NHWC"}, r"8 channels in NHWC, .*say layout='NCHW'"),
    "four channels": (FOUR, {}, "4 channels in NCHW, but pictures in RGB have 3"),
    "no picture": (FLAT, {}, r"takes float32 \[1, 9\], which is no picture"),
    "mean of pixels": (
        PIXELS,
        {"mean": 0.5, "size": 8},
        "takes uint8, which are the pixels themselves; leave out mean",
    ),
    "another integer": (SIGNED, {}, "pictures become float or uint8; say how with transform="),
}


@pytest.mark.parametrize("case", REFUSED)
def test_says_what_the_model_takes(case: str, made: Made, graph: Build) -> None:
    model, arguments, message = REFUSED[case]
    with pytest.raises(CalibrationError, match=message):
        feeds(Pictures(made({"a.png": pixels(10, 12)}), **arguments), graph(model))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resize": "fit"}, "resize is one of shortest, stretch, letterbox, not 'fit'"),
        ({"layout": "CHWN"}, "layout is one of NCHW, NHWC"),
        ({"color": "rgb"}, "color is one of RGB, BGR, L"),
        ({"size": 0}, "size is a number of pixels"),
        ({"crop": (1, 2, 3)}, "crop is a number of pixels"),
        ({"size": (8, 9), "resize": "shortest"}, "takes one number as its size"),
        ({"std": (1, 0, 1)}, "std divides"),
        ({"mean": (1, 2)}, r"mean holds 2 numbers for 3 channels \(RGB\)"),
        ({"preprocess": 3}, "a name or a function"),
    ],
)
def test_refuses_arguments(arguments: dict[str, Any], message: str, made: Made, graph: Build) -> None:
    with pytest.raises(OptionError, match=message):
        feeds(Pictures(made({"a.png": pixels()}), **arguments), graph(RGB))


def test_a_folder_of_both_kinds_is_refused(made: Made, graph: Build) -> None:
    folder = made({"a.png": pixels()})
    np.save(folder / "b.npy", np.zeros((3, 8, 8)))
    with pytest.raises(CalibrationError, match=r"holds arrays \(b.npy\) and pictures \(a.png\)"):
        feeds(folder, graph(RGB))
    (folder / "empty").mkdir()
    with pytest.raises(CalibrationError, match="holds no picture"):
        Pictures(folder / "empty")


def test_of_several_inputs_the_one_with_four_axes_takes_pictures(made: Made, graph: Build) -> None:
    model = graph("t (float[1, 3, 8, 8] x, float[1, 3] z) => (float[1, 3] y) { m = ReduceMean(x) y = Mul(m, z) }")
    folder = made({"a.png": pixels()})
    with pytest.raises(CalibrationError, match="holds one array, but the model takes x, z"):
        feeds(folder, model)
    found: Iterator[Feed] = iter(calibration_data(folder, inputs="x").bound_to(model))
    assert next(found)["x"].shape == (1, 3, 8, 8)
