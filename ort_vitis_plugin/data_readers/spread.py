"""A few samples stand for all where they are spread evenly over them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .convert_feed import Feed


def spread(known: int, most: int, without: Collection[int] = ()) -> list[int]:
    """Numbers of at most ``most`` of the ``known`` samples, evenly spread; of those in ``without`` none, as long as
    enough others are left."""
    others = [number for number in range(known) if number not in without]
    if len(others) < min(most, known):
        others = list(range(known))
    places = np.linspace(0, len(others) - 1, min(most, len(others))).astype(int)
    return [others[place] for place in dict.fromkeys(places.tolist())] if others else []


def picked(samples: Iterable[Feed], numbers: Collection[int]) -> list[Feed]:
    """The samples of these numbers; no more are read than are needed."""
    wanted, found = set(numbers), []
    for number, feed in enumerate(samples):
        if number in wanted:
            found.append(feed)
        if len(found) == len(wanted):
            break
    return found
