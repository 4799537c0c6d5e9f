"""x86 CPUs without VNNI add pairs of 8-bit products in 16 bits, which saturate; onnxruntime has an option against it.

With ``session.x64quantprecision`` it writes signed weights as unsigned ones, for which its kernels do not saturate.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

PRECISE = {"session.x64quantprecision": "1"}
_X86 = ("amd64", "i386", "i686", "x86", "x86_64")
_EXACT_FLAGS = frozenset({"avx512_vnni", "avx_vnni"})


def flags_of(text: str) -> frozenset[str]:
    """The features that /proc/cpuinfo lists for the first processor."""
    lines = (line.partition(":") for line in text.splitlines())
    return next((frozenset(value.split()) for key, _, value in lines if key.strip() == "flags"), frozenset())


@cache
def cpu_saturates() -> bool:
    """Whether this CPU's 8-bit kernels may saturate: x86 of which nothing says that it has VNNI."""
    if platform.machine().lower() not in _X86:
        return False
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return not flags_of(text) & _EXACT_FLAGS


def exact_config() -> dict[str, str]:
    """The session configuration with which integer kernels are exact on this CPU."""
    return dict(PRECISE) if cpu_saturates() else {}
