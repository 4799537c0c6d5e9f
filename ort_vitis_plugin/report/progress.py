"""A bar on a terminal; nothing elsewhere, and nothing with ORT_VITIS_PROGRESS=0."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import Any


class Progress:
    """Counts steps of one stage, with rate and time left where the number of steps is known."""

    def __init__(self, text: str, total: int = 0) -> None:
        self._text, self._total = text, total
        self._done, self._start = 0, 0.0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and os.environ.get("ORT_VITIS_PROGRESS", "1") != "0":
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            rate = TextColumn("{task.fields[rate]}")
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._text, total=self._total or None, rate="")
            self._start = time.perf_counter()
        return self

    def total(self, total: int) -> None:
        """Say how many steps there are, once that is known."""
        if self._bar is not None:
            self._bar.update(self._task, total=total)

    def advance(self) -> None:
        if self._bar is not None:
            self._done += 1
            seconds = max(time.perf_counter() - self._start, 1e-6)
            self._bar.update(self._task, advance=1, rate=f"{self._done / seconds:.1f}/s")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
