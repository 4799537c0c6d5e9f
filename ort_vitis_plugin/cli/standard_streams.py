"""A command may be started with streams closed: no file that it opens may take their numbers, nothing it says fails."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def standard_streams() -> Iterator[None]:
    """In the block words for a stream that is not there go nowhere.

    C code writes its warnings to the number 2, whatever file that is.
    """
    with ExitStack() as stack:
        if None in (sys.stdin, sys.stdout, sys.stderr):
            while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest that is free
                stack.callback(os.close, number)
            os.close(number)
        for stream, redirect in ((sys.stdout, redirect_stdout), (sys.stderr, redirect_stderr)):
            if stream is None:
                stack.enter_context(redirect(stack.enter_context(open(os.devnull, "w", encoding="utf-8"))))
        yield
