"""Labels come from a list or a table, one for each row."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin.data_readers.labels import labelled_samples
from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.testing import graph

MODEL = graph("t (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }")
FEEDS = [{"x": np.zeros((2, 3), np.float32)}, {"x": np.ones((1, 3), np.float32)}]


def labels(given: Any) -> list[list[int] | None]:
    return [None if each is None else each.tolist() for _, each in labelled_samples(FEEDS, given, MODEL)]


def test_rows_have_labels_in_order(tmp_path: Path) -> None:
    assert labels([4, 0, 2]) == [[4, 0], [2]]
    assert labels([np.array([4, 0]), np.array(2)]) == [[4, 0], [2]]
    assert labels(None) == [None, None]
    table = tmp_path / "labels.csv"
    for text in ("name,class\na,4\nb,0\nc,2\n", "4\n0\n\n2\n", "\ufeff4\n0\n2"):
        table.write_text(text, encoding="utf-8")
        assert labels(table) == labels(str(table)) == [[4, 0], [2]]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([4, 0], "labels for 2 rows only"),
        ([4, 0, 2, 1], "4 labels for 3 rows"),
        ([4, 0.5, 2], "whole numbers from 0 on, not"),
        ("none.csv", "cannot be read"),
        (5, "labels take a list of whole numbers or the path of a CSV file, not 5"),
    ],
)
def test_labels_that_do_not_fit_are_told(given: Any, text: str) -> None:
    with pytest.raises(CalibrationError, match=text):
        labels(given)


def test_a_cell_that_is_no_number_is_told_with_its_row(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("class\n4\ncat\n2\n", encoding="utf-8")
    with pytest.raises(CalibrationError, match=r"row 2 of .* ends with 'cat'"):
        labels(table)
