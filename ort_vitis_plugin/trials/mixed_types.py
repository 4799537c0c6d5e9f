"""Wider types for as few tensors as the goal needs: the worst first, then taken back one by one where all is well."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..plugin.entries import full_name
from ..request.change import OPTIONS
from ..request.renames import OVERRIDES
from .trial import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..request.change import Change
    from .trial import Configuration, Trial

TAKEN_BACK = 12  # tensors that are tried at most


def raised(configuration: Configuration, tensors: Sequence[str], kind: object) -> Change:
    """The change that gives these tensors a type, beside what the configuration overrides already."""
    given = (configuration.get(OPTIONS) or {}).get(OVERRIDES) or {}
    return {OPTIONS: {OVERRIDES: {**given, **{name: [{"quant_type": plain(kind)}] for name in tensors}}}}


def fewest(
    configuration: Configuration,
    tensors: Sequence[str],
    kind: object,
    attempt: Callable[[str, Change], Trial | None],
    reaches: Callable[[Trial | None], bool],
) -> None:
    """Try 1, 2, 4, ... of the worst ``tensors`` in a wider type until the goal is reached, then fewer.

    ``attempt`` gives None when the time is up.
    """
    name = full_name(plain(kind))

    def with_(chosen: Sequence[str]) -> Trial | None:
        return attempt(f"{len(chosen)} tensors {name}", raised(configuration, chosen, kind))

    low, count = 0, 1
    while True:
        count = min(count, len(tensors))
        row = with_(tensors[:count])
        if row is None or (count == len(tensors) and not reaches(row)):
            return
        if reaches(row):
            break
        low, count = count, count * 2
    while count - low > 1:
        middle = (low + count) // 2
        row = with_(tensors[:middle])
        if row is None:
            return
        low, count = (low, middle) if reaches(row) else (middle, count)
    chosen = list(tensors[:count])
    for tensor in list(reversed(chosen[:-1]))[:TAKEN_BACK]:
        row = with_([each for each in chosen if each != tensor])
        if row is None:
            return
        if reaches(row):
            chosen.remove(tensor)
