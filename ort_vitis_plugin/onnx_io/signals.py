"""A signal that comes while files change hands waits until there is the old file or the new one, and no third."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGINT)  # in the order in which their handlers come back


class Terminated(BaseException):
    """SIGTERM came: what the call has open is closed on the way out."""


class HeldSignals:
    """SIGINT and SIGTERM as they came while they were held, in the main thread (no other one gets them)."""

    def __init__(self) -> None:
        self._pending: list[int] = []
        self._before: dict[int, Any] = {}

    def hold(self) -> None:
        """From now on they wait. Signals that are ignored, or that C code handles, are left alone."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in ENDING:
            handler = signal.getsignal(number)
            if handler not in (None, signal.SIG_IGN):
                self._before[number] = handler
                signal.signal(number, self._note)

    def release(self) -> None:
        """Those that came do now what they would have done."""
        before, self._before = self._before, {}
        try:
            if signal.SIGTERM in before:
                signal.signal(signal.SIGTERM, before[signal.SIGTERM])
        finally:
            if signal.SIGINT in before:
                signal.signal(signal.SIGINT, before[signal.SIGINT])
        pending, self._pending = self._pending, []
        for number in pending:
            if callable(before[number]):
                before[number](number, None)
            else:
                os.kill(os.getpid(), number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._pending.append(number)

    @contextmanager
    def released(self) -> Iterator[None]:
        """A block in which they act as ever."""
        self.release()
        try:
            yield
        finally:
            self.hold()


@contextmanager
def held_signals() -> Iterator[HeldSignals]:
    """SIGINT and SIGTERM wait until the block ends."""
    held = HeldSignals()
    try:
        held.hold()
        yield held
    finally:
        held.release()


@contextmanager
def termination_raises() -> Iterator[None]:
    """SIGTERM raises ``Terminated`` in the block, where nobody handles it otherwise."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def terminated(number: int, frame: FrameType | None) -> None:
        raise Terminated

    try:
        signal.signal(signal.SIGTERM, terminated)
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends the process once the block has cleaned up behind itself."""
    mine = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    try:
        with termination_raises():
            yield
    except Terminated:
        if mine:
            os.kill(os.getpid(), signal.SIGTERM)
        raise
