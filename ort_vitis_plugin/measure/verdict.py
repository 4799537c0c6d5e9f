"""A result is bad where an output is mostly noise, ranks classes otherwise than in float, or always says the same.

Thresholds are the project's own: below 10 dB more than a tenth of an output's energy is error; a classifier that
changes its mind about one row in twenty has lost more accuracy than 8-bit codes cost any network of tests/zoo.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.sqnr import sqnr_db

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LEAST_SQNR = 10.0  # decibels
LEAST_AGREEMENT = 0.95  # share of rows with the same largest entry
LEAST_ROWS = 20  # of fewer a single one would decide


def objection(reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> str | None:
    """Why an output (or a part of one) is bad, None where it is not.

    ``reference`` and ``found`` hold its values in float and quantized, of the same shape sample by sample. What is not
    finite in float is left out.
    """
    f, q = (np.concatenate([np.asarray(part).ravel() for part in parts]) for parts in (reference, found))
    finite = np.isfinite(f)
    f, q = f[finite], q[finite]
    if f.size and np.ptp(f) > 0 and np.ptp(q) == 0:
        return f"it is {q[0]:.6g} everywhere"
    sqnr = sqnr_db(f, q)
    if sqnr < LEAST_SQNR:
        return f"{sqnr:.1f} dB against float"
    agreement = argmax_agreement(reference, found)
    if agreement is not None and agreement < LEAST_AGREEMENT:
        return f"its largest entry is that of float in {agreement:.0%} of the rows"
    return None


def argmax_agreement(reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> float | None:
    """The share of rows of an output [N, classes] with the same largest entry; None without 20 such rows."""
    same: list[NDArray[np.bool_]] = []
    for f, q in zip(reference, found, strict=True):
        if f.ndim < 2 or f.shape[1] < 2 or any(size != 1 for size in f.shape[2:]):
            return None
        rows = f.shape[:2]
        same.append(np.argmax(f.reshape(rows), axis=1) == np.argmax(q.reshape(rows), axis=1))
    agree = np.concatenate(same) if same else np.zeros(0, bool)
    return float(np.mean(agree)) if agree.size >= LEAST_ROWS else None
