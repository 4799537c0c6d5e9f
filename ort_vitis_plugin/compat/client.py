"""A client of onnxruntime gets us without a change to its code: its Python, and every one it starts, imports us too."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

AT_START = Path(__file__).resolve().parent / "at_start"
OURS = Path(__file__).resolve().parents[2]


def environment(names: Sequence[str] = (), base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a client: ``base`` (default: this process's) with what brings us in.

    ``names`` are older packages whose names shall be importable (``compat.install``).
    """
    found = dict(os.environ if base is None else base)
    before = [entry for entry in found.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != str(AT_START)]
    # Where we are no installed package but on the path, that path goes with us.
    ours = [str(OURS)] if str(OURS) in sys.path or "" in sys.path else []
    found["PYTHONPATH"] = os.pathsep.join([str(AT_START), *before, *(entry for entry in ours if entry not in before)])
    if names:
        found["ORT_VITIS_NAMES"] = ",".join(names)
    return found


def run_client(arguments: Sequence[str], names: Sequence[str] = ()) -> int:
    """Run ``python ARGUMENTS`` with us imported, in it and in the processes that it starts; returns its exit status.

    As in a shell, that of a process which signal N ended is 128 + N.
    """
    status = subprocess.call([sys.executable, *arguments], env=environment(names))
    return status if status >= 0 else 128 - status
