"""A bar on a terminal, a log record every ten seconds elsewhere; neither with ORT_VITIS_PROGRESS=0."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
import os
import sys
import time
from types import TracebackType
from typing import Any

log = logging.getLogger(__name__)
EVERY = 10.0  # seconds between records


class Progress:
    """Counts steps of one stage, with rate and time left where the number of steps is known."""

    def __init__(self, text: str, total: int = 0) -> None:
        self._text, self._total = text, total
        self._done, self._start, self._said = 0, 0.0, 0.0
        self._bar: Any = None
        self._task: Any = None
        self._logs = False

    def __enter__(self) -> Progress:
        self._start = self._said = time.monotonic()
        if os.environ.get("ORT_VITIS_PROGRESS", "1") == "0":
            return self
        if sys.stderr is None or not sys.stderr.isatty():  # a service, or a program with a window, may have none
            self._logs = True
            return self
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        rate = TextColumn("{task.fields[rate]}")
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._text, total=self._total or None, rate="")
        return self

    def total(self, total: int) -> None:
        """Say how many steps there are, once that is known."""
        self._total = total
        if self._bar is not None:
            self._bar.update(self._task, total=total)

    def advance(self) -> None:
        """One step more is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1, rate=f"{self._rate():.1f}/s")
        elif self._logs and time.monotonic() - self._said >= EVERY:
            self._said = time.monotonic()
            log.info("%s", self._state())

    def _rate(self) -> float:
        return self._done / max(time.monotonic() - self._start, 1e-6)

    def _state(self) -> str:
        done = f"{self._text}: {self._done}"
        if not self._total:
            return f"{done} done, {self._rate():.1f}/s"
        left = (self._total - self._done) / self._rate()
        return f"{done} of {self._total} done, {self._rate():.1f}/s, {left:.0f} s left"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
