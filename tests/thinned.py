"""Of a grid of cases every so manieth diagonal runs by default, so that each value meets some of all others; the rest
is slow."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest


def thinned(step: int, *axes: Iterable[Any]) -> list[Any]:
    """Cases of all combinations, for one parametrize of as many names as there are axes.

    Those run by default whose places on their axes add up to a multiple of ``step``.
    """
    places = product(*(list(enumerate(axis)) for axis in axes))
    return [
        pytest.param(
            *(value for _, value in case),
            marks=pytest.mark.slow if sum(at for at, _ in case) % step else (),
            id="-".join(_name(value) for _, value in case),
        )
        for case in places
    ]


def _name(value: object) -> str:
    return value if isinstance(value, str) else str(getattr(value, "name", value))
