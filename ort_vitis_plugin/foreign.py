"""What leaves a public function is an error of ours with its cause, or what the caller's own code raised."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import errno
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from .errors import (
    ModelError,
    OutOfMemoryError,
    OutputError,
    QuantizationError,
    UnexpectedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
T = TypeVar("T")

_OF_CALLER = "__of_caller__"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
# Words of libraries that only say in a text that there is no memory.
_NO_MEMORY = ("bad_alloc", "Failed to allocate memory", "Cannot allocate memory", "bad allocation")
# Modules whose exceptions say that the model is at fault.
_OF_MODEL = ("onnx.", "onnxruntime.", "google.protobuf.")


def public(function: Callable[P, T]) -> Callable[P, T]:
    """A function that raises errors of ours alone, but for those that the caller's code raised."""

    @wraps(function)
    def door(*args: P.args, **kwargs: P.kwargs) -> T:
        with ours_or_none(function.__name__):
            return function(*args, **kwargs)

    return door


@contextmanager
def ours_or_none(what: str) -> Iterator[None]:
    """What the block raises is of ``errors``; errors of the caller's code, and warnings made errors, pass.

    Raises:
        QuantizationError: what ``translated`` makes of anything else.
    """
    try:
        yield
    except (QuantizationError, Warning):
        raise
    except Exception as error:
        if is_of_caller(error):
            raise
        raise translated(error, what) from error


@contextmanager
def callers_code(where: str) -> Iterator[None]:
    """A block that runs code of the caller: what it raises keeps its type, and gets a note of where it was."""
    try:
        yield
    except (QuantizationError, StopIteration, Warning):
        raise
    except Exception as error:
        if not is_of_caller(error):
            error.add_note(f"raised by {where}")
            setattr(error, _OF_CALLER, True)
        raise


def is_of_caller(error: BaseException) -> bool:
    """Whether code of the caller raised it."""
    return bool(getattr(error, _OF_CALLER, False))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether it says, in whatever way, that there was no memory."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY)


def translated(error: Exception, what: str) -> QuantizationError:
    """The error of ours that says what a foreign one means."""
    text = f"{type(error).__name__}: {error}"
    if is_out_of_memory(error):
        return OutOfMemoryError(
            f"{what} ran out of memory ({text}); give fewer or smaller samples, or use a machine with more memory"
        )
    if isinstance(error, RecursionError):
        return ModelError(f"{what}: the model or a value is nested too deeply to be read")
    if type(error).__module__.startswith(_OF_MODEL):
        return ModelError(f"{what}: the model cannot be used ({text})")
    if isinstance(error, OSError) and error.errno in _FULL:
        return OutputError(f"{what} cannot write: {error}")
    return UnexpectedError(
        f"{what} failed in a way that it does not know ({text}); this is a defect of ort_vitis_plugin: please report "
        "it with the whole traceback"
    )
