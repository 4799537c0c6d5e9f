"""The exported demo is what the documentation types: pictures quantize and judge as arrays do."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ort_vitis_plugin.demo import data
from ort_vitis_plugin.demo.export import PICTURES, SAMPLES, STEP, export_demo
from ort_vitis_plugin.errors import OutputError


def test_it_writes_model_samples_and_labelled_pictures(tmp_path: Path) -> None:
    assert [file.name for file in export_demo(tmp_path / "new")] == ["digits.onnx", "samples.npz", "pictures"]
    assert (tmp_path / "new" / "digits.onnx").read_bytes() == data.model_path().read_bytes()
    with np.load(tmp_path / "new" / "samples.npz") as file:
        assert file[data.INPUT].shape == (SAMPLES, 1, 8, 8)
    pictures = sorted((tmp_path / "new" / "pictures").rglob("*.png"))
    assert len(pictures) == PICTURES
    assert {picture.parent.name for picture in pictures} == set("0123456789")


def test_pictures_hold_the_pixels(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    export_demo(tmp_path)
    for number in (0, 17, PICTURES - 1):
        label = data.evaluation_labels()[number]
        with image.open(tmp_path / "pictures" / str(label) / f"{number:03d}.png") as picture:
            assert (picture.size, picture.mode) == ((8, 8), "L")
            pixels = np.asarray(picture, np.float32) / (STEP * data.BRIGHTEST)
        assert np.array_equal(pixels, data.evaluation_feeds()[number][data.INPUT][0, 0])


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="the demo cannot be written to"):
        export_demo(tmp_path / "file" / "folder")
