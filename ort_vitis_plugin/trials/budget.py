"""A search ends when its time is up; time is told as people say it: 90s, 5m, 1h30m."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
import time

from ..errors import OptionError

UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_FORM = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")


def seconds_of(said: str | float) -> float:
    """Seconds of ``'5m'``, ``'1h30m'``, ``'90s'``, ``'90'`` or a number.

    Raises:
        OptionError: it is none of these, or no time at all.
    """
    if isinstance(said, str):
        found = _FORM.fullmatch(said.strip().lower())
        parts = found.groups() if found is not None else (None, None, None)
        seconds = sum(float(part) * unit for part, unit in zip(parts, UNITS.values(), strict=True) if part)
    else:
        seconds = float(said) if isinstance(said, (int, float)) else 0.0
    if not seconds > 0:
        raise OptionError(f"budget takes a time such as '90s', '5m' or '1h30m', not {said!r}")
    return seconds


class Budget:
    """So many seconds from now on. ``kept`` are for corrections, ``last`` for the call that writes the best, ``ahead``
    for the next trial: what is begun is not broken off."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._start = seconds, time.monotonic()
        self.kept = self.last = self.ahead = 0.0

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._start

    @property
    def is_over(self) -> bool:
        """Whether no trial may begin any more."""
        return self.spent + self.ahead >= self.seconds - self.kept - self.last
