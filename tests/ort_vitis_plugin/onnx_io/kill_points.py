"""Calls of one function that end at their n-th file event, each in a process of its own (forked: imports cost once)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.listdir", "os.scandir", "fcntl.flock")


class _Counter:
    """Counts file events that name a folder; at the n-th one the process sends itself a signal."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.at, self.number, self.seen = str(folder), 0, 0, 0

    def arm(self, at: int, number: int) -> None:
        self.at, self.number, self.seen = at, number, 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.number or event not in EVENTS:
            return
        named = event == "fcntl.flock" or any(self.folder in str(argument) for argument in arguments)
        if named:
            self.seen += 1
            if self.seen == self.at:
                os.kill(os.getpid(), self.number)


def ended_at_every_event(
    folder: Path, number: int, call: Callable[[], None], reset: Callable[[], None]
) -> Iterator[int]:
    """The wait status of a process for every event of the call, from the first on; the last one got no signal."""
    counter = _Counter(folder)
    sys.addaudithook(counter)
    at = 0
    while True:
        at += 1
        reset()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                counter.arm(at, number)
                call()
                counter.number = 0
                code = 0 if counter.seen >= at else 99
            except KeyboardInterrupt:
                code = 130
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 99:
            return
        yield status
