"""What a session frees stays with the C library's heap, and the next session's memory comes on top of it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Hand freed memory back to the system, where the C library can (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
