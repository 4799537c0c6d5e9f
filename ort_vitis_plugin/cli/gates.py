"""A gate lets a result pass, or ends the command with status 3 and says what is missing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from collections.abc import Mapping

NOT_MET = 3
MIN_SQNR, MAX_DROP = "--min-sqnr", "--max-drop"


def below(sqnr: Mapping[str, float], least: float | None) -> int:
    """3 where an output's decibels are below the least that are wanted, else 0."""
    low = {name: value for name, value in sqnr.items() if least is not None and not value >= least}
    for name, value in low.items():
        print(f"gate: {name} has {value:.1f} dB, {MIN_SQNR} asks for {least:g}", file=sys.stderr)
    return NOT_MET if low else 0


def dropped(before: float, after: float, most: float | None) -> int:
    """3 where accuracy falls by more than the most that is allowed (both are shares of 1), else 0."""
    if most is None or before - after <= most + 1e-12:
        return 0
    print(f"gate: accuracy falls from {before:.2%} to {after:.2%}, {MAX_DROP} allows {most:.2%}", file=sys.stderr)
    return NOT_MET


def share(text: str) -> float:
    """``1%`` or ``0.01`` as a share of 1.

    Raises:
        OptionError: it is neither.
    """
    from ort_vitis_plugin.errors import OptionError

    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise OptionError(f"{MAX_DROP} takes a share such as 1% or 0.01, not {text!r}")
    return value
