"""Folding may not blow a model up: a result may be 64 KiB larger than the constants it is made of, no more."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

# Bytes; a choice.
GROWTH = 1 << 16


def outgrows(elements: int, size: int, given_elements: int, given_size: int) -> bool:
    """Whether so many elements of ``size`` bytes in all are too much for what was made of the given ones.

    A Cast alone enlarges nothing: elements count too.
    """
    return elements > given_elements and size > given_size + GROWTH
