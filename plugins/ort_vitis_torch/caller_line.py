"""The caller's own line: the nearest that lies neither in torch nor in this package."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

NOT_THE_CALLERS = tuple(f"{Path(file).parent}{os.sep}" for file in (torch.__file__, __file__))


def caller_line() -> str:
    """``file:line`` of the nearest frame that is the caller's; empty where there is none."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(NOT_THE_CALLERS):
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f"{os.path.relpath(frame.f_code.co_filename)}:{frame.f_lineno}"
