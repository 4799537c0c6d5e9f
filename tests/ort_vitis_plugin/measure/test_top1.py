"""The first output that ranks classes is compared with the labels."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.measure.top1 import top1

SCORES = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], np.float32)


def test_rows_with_labels_count() -> None:
    samples = [({}, np.array([1, 0, 0])), ({}, None)]
    assert top1([lambda feed: [SCORES], lambda feed: [-SCORES]], samples) == ([2, 1], 3)


def test_axes_of_one_behind_the_classes() -> None:
    assert top1([lambda feed: [SCORES.reshape(3, 2, 1, 1)]], [({}, np.array([1, 0, 1]))]) == ([3], 3)


@pytest.mark.parametrize(
    ("outputs", "labels", "message"),
    [([SCORES], [2, 0, 0], "has 2 classes"), ([SCORES[:, :1]], [0, 0, 0], "no output"), ([], [0], "no output")],
)
def test_what_cannot_be_compared(outputs: list[np.ndarray], labels: list[int], message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        top1([lambda feed: outputs], [({}, np.array(labels))])
