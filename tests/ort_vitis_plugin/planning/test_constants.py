"""What the caller states of channels must be about channels that the tensor has."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.planning.constants import _by_channel, check_channels


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ([{"axis": 2}], r"names the axis 2, which a tensor of shape \[4, 3\] does not have"),
        ([{"axis": -3}], "names the axis -3"),
        ([{"axis": 1}, {}], "speaks of 2 channels; along the axis 1 the tensor has 3"),
    ],
)
def test_channels_that_are_not_there_are_told(stated: list[dict[str, object]], text: str) -> None:
    with pytest.raises(OptionError, match=rf"TensorQuantOverrides\['w'\] {text}"):
        check_channels("w", (4, 3), stated)


@pytest.mark.parametrize("stated", [[], [{}], [{"axis": 1}], [{"axis": -1}, {}, {}], [{"axis": 0}, {}, {}, {}]])
def test_one_entry_for_all_or_one_for_each(stated: list[dict[str, object]]) -> None:
    check_channels("w", (4, 3), stated)


def test_of_a_channel_that_nothing_depends_on_all_elements_count_alike() -> None:
    found = _by_channel(np.float32([[0, 1], [0, 2]]), 1)
    assert [None if row is None else row.tolist() for row in found] == [[1, 1], [1, 2]]
