"""A bar on a terminal; nothing elsewhere, and nothing with ORT_VITIS_PROGRESS=0."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any


class Progress:
    """Counts steps of one stage, with rate and time left where the number of steps is known."""

    def __init__(self, text: str, total: int = 0) -> None:
        self._text, self._total = text, total
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and os.environ.get("ORT_VITIS_PROGRESS", "1") != "0":
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._text, total=self._total or None)
        return self

    def advance(self) -> None:
        if self._bar is not None:
            self._bar.advance(self._task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
