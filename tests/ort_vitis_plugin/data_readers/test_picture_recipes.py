"""Recipes and functions of the user prepare pictures by name."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ort_vitis_plugin import Pictures
from ort_vitis_plugin.data_readers.picture_recipes import preprocess_named
from ort_vitis_plugin.errors import CalibrationError, OptionError
from tests.ort_vitis_plugin.data_readers.drawings import (
    FREE,
    PIXELS,
    RGB,
    Build,
    Image,
    Made,
    feeds,
    first,
    pixels,
)


def test_recipes(made: Made, graph: Build) -> None:
    folder = made({"a.png": pixels(300, 400)})
    picture = Image.open(folder / "a.png")
    (found,) = feeds(Pictures(folder, preprocess="imagenet"), graph(FREE))
    resized = np.asarray(picture.resize((341, 256), Image.Resampling.BILINEAR))[16:240, 58:282]
    expected = (resized / 255 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])
    np.testing.assert_allclose(found[0], expected.transpose(2, 0, 1), rtol=1e-5, atol=1e-5)
    assert feeds(Pictures(folder, preprocess="imagenet"), graph(RGB))[0].shape == (1, 3, 8, 8)
    assert feeds(Pictures(folder, preprocess="imagenet"), graph(PIXELS))[0].dtype == np.uint8
    with pytest.raises(CalibrationError, match=r"pixels themselves; leave out mean$"):
        feeds(Pictures(folder, preprocess="imagenet", mean=0.5), graph(PIXELS))
    assert feeds(Pictures(folder, preprocess="yolo"), graph(FREE))[0].shape == (1, 3, 640, 640)
    (zero_one,) = feeds(Pictures(folder, preprocess="zero-one"), graph(RGB))
    np.testing.assert_array_equal(zero_one[0, :, 0, 0] * 255, np.asarray(picture.resize((8, 8), 2))[0, 0])


def test_a_function_of_the_users(made: Made, graph: Build, tmp_path: Path) -> None:
    folder = made({"a.png": pixels(20, 30)})
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def first(picture):\n"
        "    assert picture.mode == 'RGB'\n"
        "    return np.asarray(picture, np.float32)[:8, :8].transpose(2, 0, 1) / 128\n"
        "def wrong(picture):\n"
        "    return 'done'\n"
    )
    expected = pixels(20, 30)[:8, :8].transpose(2, 0, 1)[None].astype(np.float32) / 128
    named = f"{tmp_path / 'mine.py'}:first"
    for source in (Pictures(folder, preprocess=named), Pictures(folder, preprocess=first)):
        np.testing.assert_array_equal(feeds(source, graph(RGB))[0], expected)
    np.testing.assert_array_equal(feeds(folder, graph(RGB), transform=first)[0], expected)
    halved = feeds(Pictures(folder, crop=8), graph(RGB), transform=lambda array: array / 2)
    np.testing.assert_array_equal(halved[0] * 2, feeds(Pictures(folder, crop=8), graph(RGB))[0])
    with pytest.raises(CalibrationError, match=r"transform returns str for .*a.png"):
        feeds(Pictures(folder, preprocess=f"{tmp_path / 'mine.py'}:wrong"), graph(RGB))
    for name, message in (
        (
            "imagnet",
            r"no preprocessing 'imagnet' \(imagenet, yolo, zero-one, or FILE.py:FUNCTION\); did you mean imagenet",
        ),
        ("nothing.py:f", "'nothing.py' of the preprocessing .* does not exist"),
        (f"{tmp_path / 'mine.py'}:frst", "has no function 'frst'; did you mean first"),
    ):
        with pytest.raises(CalibrationError, match=message):
            Pictures(folder, preprocess=name)
    with pytest.raises(OptionError, match="makes the whole sample; leave out mean"):
        Pictures(folder, preprocess=first, mean=0.5)


def test_nothing_is_left_beside_the_users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "mine.py").write_text("def one(picture):\n    return 1.0\n", encoding="utf-8")
    assert preprocess_named(f"{tmp_path / 'mine.py'}:one")(None) == 1.0  # type: ignore[operator]
    assert [file.name for file in tmp_path.iterdir()] == ["mine.py"]
