"""Settings of samples are said by the names that the user typed, and act on what the data are."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.presets.samples_settings import reader_of


def flag(name: str) -> str:
    return f"--{name}"


@pytest.fixture
def arrays(tmp_path: Path) -> str:
    file = tmp_path / "x.npy"
    np.save(file, np.zeros((4, 3), np.float32))
    return str(file)


def test_no_data_is_no_reader() -> None:
    assert reader_of({}, flag) is None
    assert reader_of({"seed": 3, "data": None}, flag) is None


def test_a_function_of_a_file_turns_arrays(arrays: str, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text("def twice(x):\n    return 2 * x\n", encoding="utf-8")
    assert reader_of({"data": arrays, "samples": 2, "preprocess": f"{script}:twice"}, flag) is not None


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"samples": 3}, "--samples says how to read samples, but there are none; add --data PATH"),
        ({"data": ..., "samples": 0}, "--samples takes a whole number from 1 on, not 0"),
        ({"data": ..., "scale": 0.5}, "--scale is for pictures"),
        ({"data": ..., "resize": "224x"}, "--resize takes pixels or HEIGHTxWIDTH, not '224x'"),
        ({"data": ..., "crop": True}, "--crop takes pixels"),
    ],
)
def test_settings_that_cannot_act_are_told(said: dict[str, Any], text: str, arrays: str) -> None:
    said = {name: arrays if value is ... else value for name, value in said.items()}
    with pytest.raises(OptionError, match=text):
        reader_of(said, flag)
