"""A result is bad where an output is mostly noise, ranks classes otherwise than in float, or always says the same.

Thresholds are the project's own: below 10 dB more than a tenth of an output's energy is error; a classifier that
changes its mind about one row in twenty has lost more accuracy than 8-bit codes cost any network of tests/zoo.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.sqnr import sqnr_db
from ..report.verdict import QUANTIZED, Judgement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from .output_parts import Part

LEAST_SQNR = 10.0  # decibels
LOUD = 20.0  # decibels: what is better than this is no culprit
LEAST_AGREEMENT = 0.95  # share of rows with the same largest entry
LEAST_ROWS = 20  # of fewer a single one would decide


def objection(reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]], axis: int | None = None) -> str | None:
    """Why an output (or a part of one) is bad, None where it is not.

    ``reference`` and ``found`` hold its values in float and quantized, of the same shape sample by sample. What is not
    finite in float is left out. ``axis`` is the one along which it ranks classes (None: as ``argmax_agreement`` sees).
    """
    f, q = _finite(reference, found)
    if f.size and np.ptp(f) > 0 and np.ptp(q) == 0:
        return f"it is {q[0]:.6g} everywhere"
    sqnr = sqnr_db(f, q)
    if sqnr < LEAST_SQNR:
        return f"{sqnr:.1f} dB against float"
    agreement = argmax_agreement(reference, found, axis)
    if agreement is not None and agreement < LEAST_AGREEMENT:
        return f"its largest entry is that of float in {agreement:.0%} of the rows"
    return None


def argmax_agreement(
    reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]], axis: int | None = None
) -> float | None:
    """The share of rows with the same largest entry; None without 20 such rows.

    Rows lie along ``axis``, by default along the second of an output [N, classes], with axes of 1 behind it.
    """
    same: list[NDArray[np.bool_]] = []
    for f, q in zip(reference, found, strict=True):
        if axis is None and (f.ndim < 2 or f.shape[1] < 2 or any(size != 1 for size in f.shape[2:])):
            return None
        same.append((np.argmax(f, axis=axis or 1) == np.argmax(q, axis=axis or 1)).ravel())
    agree = np.concatenate(same) if same else np.zeros(0, bool)
    return float(np.mean(agree)) if agree.size >= LEAST_ROWS else None


def judgements_of(
    reference: Mapping[str, Sequence[NDArray[Any]]],
    stages: Mapping[str, Mapping[str, Sequence[NDArray[Any]]]],
    parts: Mapping[str, Sequence[Part]],
    axes: Mapping[str, int],
) -> list[Judgement]:
    """Every output and every part of one, the worst first.

    ``reference`` holds the float model's values by output, sample by sample; ``stages`` likewise by stage, the
    quantized one among them, of the same shapes. ``axes`` are those along which outputs rank classes.
    """
    found = []
    for output, values in reference.items():
        by_stage = {stage: answers[output] for stage, answers in stages.items()}
        found.append(_judgement(output, output, values, by_stage, axes.get(output)))
        for part in parts.get(output, ()):
            of_part = {stage: [part.of(value) for value in answers] for stage, answers in by_stage.items()}
            found.append(_judgement(part.name, part.tensor, [part.of(value) for value in values], of_part, None))
    return sorted(found, key=lambda each: each.decibels)


def _judgement(
    name: str,
    tensor: str,
    reference: Sequence[NDArray[Any]],
    stages: Mapping[str, Sequence[NDArray[Any]]],
    axis: int | None,
) -> Judgement:
    sqnr = {stage: sqnr_db(*_finite(reference, found)) for stage, found in stages.items()}
    last = stages[QUANTIZED]
    agreement = argmax_agreement(reference, last, axis)
    return Judgement(name, tensor, sqnr, agreement, objection(reference, last, axis))


def _finite(reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    f, q = (np.concatenate([np.asarray(part).ravel() for part in parts]) for parts in (reference, found))
    finite = np.isfinite(f)
    return f[finite], q[finite]
