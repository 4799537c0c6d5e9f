"""``python -m tests.mutation``: random mutants of the rooms that compute, against the tests of their rooms.

Needs the extra [mutation]. Exit status 1 where fewer than 90 of 100 fall, those aside that ``equivalent.toml``
explains.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .rooms import ROOMS, ROOT

SEED = 20261128
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build*", "__pycache__", "_build", ".hypothesis", ".*_cache")


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    made.add_argument("--mutants", type=int, default=200)
    made.add_argument("--first", type=int, default=0, help="leave out so many of them, tried before")
    made.add_argument("--seed", type=int, default=SEED)
    made.add_argument("--room", choices=sorted(ROOMS), action="append", help="rooms (default: all)")
    made.add_argument("--minutes", type=float, default=600.0, help="no new mutant is tried after that time")
    return made


def main() -> int:
    """Copy the checkout, and try the mutants in the copy."""
    parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="mutation_") as folder:
        copy = Path(folder).resolve() / "checkout"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        paths = os.pathsep.join([str(copy), str(copy / "plugins")])
        command = [sys.executable, "-m", "tests.mutation.campaign", *sys.argv[1:]]
        return subprocess.run(command, cwd=copy, env={**os.environ, "PYTHONPATH": paths}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
