"""A model may hold a Loop without end: a run of one sample ends when its time is over.

onnxruntime looks between nodes, those of bodies included, whether ``RunOptions.terminate`` was set. One thread sets it
for all runs of the process.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import onnxruntime as ort

from ..errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 1800.0
VARIABLE = "ORT_VITIS_TIME_LIMIT"
_TICK = 0.25  # seconds between two looks at the clock

_limit: ContextVar[float | None] = ContextVar("time_limit", default=None)


class _Watch:
    """The runs that are under way, with the time at which each ends, and the thread that ends them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[int, tuple[float, ort.RunOptions]] = {}
        self._thread: threading.Thread | None = None

    def start(self, options: ort.RunOptions, seconds: float) -> None:
        """From now on the run has so many seconds."""
        self._runs[id(options)] = time.monotonic() + seconds, options
        thread = self._thread
        if thread is None or not thread.is_alive():
            with self._lock:
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._look, name="ort_vitis_time_limit", daemon=True)
                    self._thread.start()

    def stop(self, options: ort.RunOptions) -> None:
        """The run is over."""
        del self._runs[id(options)]

    def _look(self) -> None:
        while True:
            time.sleep(_TICK)
            now = time.monotonic()
            for end, options in list(self._runs.values()):
                if now > end:
                    options.terminate = True


_watch = _Watch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch.__init__)  # type: ignore[misc] # a fork has the lock, but not the thread


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """In the block a run of one sample has so many seconds; None leaves the limit as it is."""
    token = _limit.set(seconds if seconds is not None else _limit.get())
    try:
        yield
    finally:
        _limit.reset(token)


def seconds_in_force() -> float:
    """The limit of one run.

    Raises:
        LimitError: the environment variable ORT_VITIS_TIME_LIMIT holds no number of seconds above 0.
    """
    own = _limit.get()
    if own is not None:
        return own
    given = os.environ.get(VARIABLE)
    try:
        seconds = SECONDS if given is None else float(given)
    except ValueError as error:
        raise LimitError(f"{VARIABLE}={given!r} is no number of seconds") from error
    if not seconds > 0:
        raise LimitError(f"{VARIABLE}={given!r} is no number of seconds above 0")
    return seconds


@contextmanager
def limited_run(options: ort.RunOptions | None = None) -> Iterator[ort.RunOptions]:
    """Options for one run that ends in time.

    Raises:
        LimitError: it was ended.
    """
    options = options if options is not None else ort.RunOptions()
    seconds = seconds_in_force()
    _watch.start(options, seconds)
    try:
        yield options
    except Exception as error:
        if options.terminate:
            raise LimitError(
                f"the model did not end on one sample within {seconds:g} seconds; TimeLimit, or the environment "
                f"variable {VARIABLE}, gives it more"
            ) from error
        raise
    finally:
        _watch.stop(options)


class LimitedSession(ort.InferenceSession):  # type: ignore[misc]
    """A session whose runs end in time."""

    def run(self, output_names: object, input_feed: object, run_options: ort.RunOptions | None = None) -> object:
        """As in onnxruntime."""
        with limited_run(run_options) as options:
            return super().run(output_names, input_feed, options)

    def run_with_ort_values(
        self, output_names: object, input_dict_ort_values: object, run_options: ort.RunOptions | None = None
    ) -> object:
        """As in onnxruntime."""
        with limited_run(run_options) as options:
            return super().run_with_ort_values(output_names, input_dict_ort_values, options)
