"""A command looks at its files before it works, and however it is ended it says what it has written."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

from ..errors import (
    AttachError,
    LimitError,
    MissingPluginError,
    OutOfMemoryError,
    PluginError,
    SelfCheckError,
    UnexpectedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FAILED, WRONG = 1, 2
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143
# What is no fault of the call; warnings are here where the caller makes errors of them.
OURS = (SelfCheckError, PluginError, AttachError, OutOfMemoryError, LimitError, UnexpectedError, Warning)


def status_of(error: Exception) -> int:
    """1 where it could not be done, 2 where the call is wrong."""
    return FAILED if isinstance(error, OURS) and not isinstance(error, MissingPluginError) else WRONG


def whole_command(verb: str, given: Mapping[str, Any], work: Callable[[], int]) -> int:
    """The exit status of a verb, whose parameters say which files it reads and writes.

    Raises:
        QuantizationError: it fails, or would write over a file that it reads.
    """
    from ..entry.whole_call import told
    from ..onnx_io.signals import Terminated, termination_raises
    from ..onnx_io.whole_file import written_files

    with termination_raises(), written_files() as written:
        try:
            return _answer(verb, given, work)
        except KeyboardInterrupt:
            print(f"interrupted: {told(written)}", file=sys.stderr)
            return INTERRUPTED
        except Terminated:
            print(f"terminated: {told(written)}", file=sys.stderr)
            return TERMINATED


def _answer(verb: str, given: Mapping[str, Any], work: Callable[[], int]) -> int:
    """Where a file goes to standard output, all else goes to stderr."""
    from ..foreign import ours_or_none
    from .verb_files import command_files

    with ours_or_none(f"ort-vitis {verb}"):
        try:
            files = command_files(verb, given)
            files.check()
            with files.protected(), redirect_stdout(sys.stderr) if files.streamed else nullcontext():
                status = work()
            sys.stdout.flush()
        except (BrokenPipeError, SystemExit) as end:
            if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):  # rich makes one of it
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
            return BROKEN_PIPE
    return status
