"""One attack: what is called with what, and what must hold afterwards."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Attack:
    """``run`` may return or raise an error of ours. ``files``: the folder in which nothing half-written may lie."""

    what: str
    run: Callable[[], object]


# An attack by its number: most are drawn; those that go through all values in turn count.
Family = Callable[[np.random.Generator, Path, int], Attack]


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one to four changes: flips, cuts, copies, runs of one value, or numbers made large."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        if not changed:
            break
        at, size = int(rng.integers(len(changed))), int(rng.integers(1, 17))
        kind = rng.integers(7)
        if kind == 0:
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del changed[at:]
        elif kind == 2:
            del changed[at : at + size]
        elif kind == 3:
            changed[at:at] = changed[at : at + size]
        elif kind == 4:
            changed[at : at + size] = bytes([int(rng.choice([0, 0x7F, 0x80, 0xFF]))]) * size
        elif kind == 5:
            changed[at] = int(rng.integers(256))
        else:
            changed[at : at + size] = rng.bytes(size)
    return bytes(changed)


def pick(rng: np.random.Generator, values: list[object]) -> object:
    """One of the values, unchanged (numpy would convert it)."""
    return values[int(rng.integers(len(values)))]
