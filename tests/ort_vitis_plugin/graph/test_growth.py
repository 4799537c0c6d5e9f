"""What is made of constants may have their size, and 64 KiB more."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.graph.growth import GROWTH, outgrows


@pytest.mark.parametrize(
    ("result", "given", "found"),
    [
        ((10, 40), (10, 40), False),
        ((11, 40 + GROWTH), (10, 40), False),
        ((11, 41 + GROWTH), (10, 40), True),
        ((10, 2 * GROWTH), (10, 40), False),
    ],
    ids=["same", "at the limit", "beyond it", "a Cast"],
)
def test_elements_and_bytes_count(result: tuple[int, int], given: tuple[int, int], found: bool) -> None:
    assert outgrows(*result, *given) is found
