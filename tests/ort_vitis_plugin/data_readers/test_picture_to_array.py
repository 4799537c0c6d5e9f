"""A picture becomes the array that the model takes, by one equation."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import Pictures
from tests.ort_vitis_plugin.data_readers.drawings import (
    FREE,
    LAST,
    RGB,
    Build,
    Image,
    Made,
    feeds,
    pixels,
)


def test_the_equation(made: Made, graph: Build) -> None:
    folder = made({"a.png": pixels()})
    arguments: dict[str, Any] = {"mean": (0.5, 0.4, 0.3), "std": [0.1, 0.2, 0.3], "scale": 1 / 128}
    (found,) = feeds(Pictures(folder, color="BGR", layout="NHWC", **arguments), graph(LAST))
    expected = (pixels()[..., ::-1] / 128 - np.array([0.5, 0.4, 0.3])) / np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)


def ramp(height: int, width: int) -> np.ndarray:
    """Red grows downwards and green to the right, in whole steps."""
    rows, columns = np.mgrid[:height, :width]
    return np.stack([rows * 4, columns * 4, rows * 0], -1).astype(np.uint8)


SIZES: dict[str, tuple[dict[str, Any], tuple[int, int], tuple[int, int], tuple[int, int]]] = {
    # arguments, height and width of the picture, its pixel (row, column) at the top left, and at the bottom right
    "crop": ({"crop": 8}, (20, 12), (6, 2), (13, 9)),
    "crop an odd rest as torchvision": ({"crop": 8}, (11, 9), (2, 0), (9, 7)),
    "shortest, then crop": ({"size": 8, "crop": 8}, (8, 20), (0, 6), (7, 13)),
}


@pytest.mark.parametrize("case", SIZES)
def test_crops_keep_the_middle(case: str, made: Made, graph: Build) -> None:
    arguments, (height, width), first, last = SIZES[case]
    (found,) = feeds(Pictures(made({"a.png": ramp(height, width)}), scale=0.25, **arguments), graph(RGB))
    assert tuple(found[0, :2, 0, 0]) == first
    assert tuple(found[0, :2, -1, -1]) == last


def test_resizing(made: Made, graph: Build) -> None:
    folder = made({"a.png": np.full((10, 20, 3), 200, np.uint8)})
    (shortest,) = feeds(Pictures(folder, size=6), graph(FREE))
    assert shortest.shape == (1, 3, 6, 12)
    (stretched,) = feeds(Pictures(folder, size=(6, 7)), graph(FREE))
    assert stretched.shape == (1, 3, 6, 7)
    (boxed,) = feeds(Pictures(folder, size=8, resize="letterbox", scale=1), graph(RGB))
    np.testing.assert_array_equal(boxed[0, 0, :, 0], [114, 114, 200, 200, 200, 200, 114, 114])
    (by_model,) = feeds(Pictures(folder, preprocess="yolo", scale=1), graph(RGB))
    np.testing.assert_array_equal(by_model, boxed)


def test_pictures_stand_upright(made: Made, graph: Build) -> None:
    tags = Image.Exif()
    tags[0x0112] = 6  # turned by 90 degrees: rows of the file run downwards
    folder = made({})
    folder.mkdir()
    Image.fromarray(ramp(8, 8)).save(folder / "a.png", exif=tags)
    (found,) = feeds(Pictures(folder, scale=0.25), graph(RGB))
    np.testing.assert_array_equal(found[0].transpose(1, 2, 0), np.rot90(ramp(8, 8), -1) / 4)


def test_transparent_parts_show_white_and_16_bits_become_8(made: Made, graph: Build) -> None:
    alpha = np.zeros((8, 8, 4), np.uint8)
    alpha[:4, :, 3] = 255
    deep = Image.fromarray((np.arange(64, dtype=np.uint16).reshape(8, 8) << 8) + 255)
    palette = Image.fromarray(pixels()).convert("P")
    folder = made({"a.png": alpha, "b.png": deep, "c.png": palette, "d.png": Image.new("1", (8, 8), 1)})
    a, b, _, d = feeds(Pictures(folder, scale=1), graph(RGB))
    assert (float(a[0, 0, 0, 0]), float(a[0, 0, 7, 0])) == (0, 255)
    np.testing.assert_array_equal(b[0, 0], np.arange(64).reshape(8, 8))
    assert np.all(d == 255)
