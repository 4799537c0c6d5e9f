"""``python -m tests.digests record FILE.json``, and ``compare FILE.json``: which quantized files a change changes.

The JSON maps the name of each call to the SHA-256 of its quantized model, or to its error. Only what the package
publishes is imported, so these files run as they are on an older or a newer tree: put them there and record.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os

# Before onnxruntime and numpy start their threads: sums of several threads depend on how many there are.
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="PASSIVE", OPENBLAS_NUM_THREADS="1")

import argparse
import contextlib
import io
import json
import logging
import platform
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from tests.digests import cases
from tests.digests.case import Case
from tests.digests.digest import digest

Digests = dict[str, str]


def _made_with() -> Digests:
    """Versions on which digests depend; weights of 7 or 8 bits depend on the processor too."""
    versions = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "onnx": onnx.__version__,
        "onnxruntime": onnxruntime.__version__,
        "machine": platform.machine(),
    }
    return {f"made with {name}": version for name, version in versions.items()}


def record(listed: Iterable[Case], keep: Path | None = None) -> Digests:
    """The digest of every case; ``keep`` gets their models."""
    digests = _made_with()
    for case in listed:
        assert case.key not in digests, f"{case.key} is listed twice"
        np.random.seed(0)
        with contextlib.redirect_stdout(io.StringIO()):
            digests[case.key] = digest(case, keep)
    return digests


def differences(before: Digests, after: Digests) -> list[str]:
    """One line for each key that differs, is new or is missing."""
    lines = []
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old is None:
            lines.append(f"new      {key}")
        elif new is None:
            lines.append(f"missing  {key}")
        elif old != new:
            lines.append(f"differs  {key}\n           {old}\n           {new}")
    return sorted(lines)


def _listed(arguments: argparse.Namespace) -> list[Case]:
    listed = [*cases.default(), *(cases.of_zoo(arguments.zoo) if arguments.zoo else ())]
    return [case for case in listed if not arguments.only or arguments.only in case.key]


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.digests", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, told in (("record", "write the digests"), ("compare", "quantize again, or read, and compare")):
        command = commands.add_parser(name, help=told)
        command.add_argument("file", type=Path, metavar="FILE.json")
        command.add_argument("--zoo", type=Path, metavar="ZOO.py", help="the small networks of this zoo too")
        command.add_argument("--only", metavar="TEXT", help="only calls whose name holds this text")
        command.add_argument("--keep", type=Path, metavar="DIR", help="write the quantized models there")
    commands.choices["compare"].add_argument("--with", dest="other", type=Path, help="recorded digests to compare with")
    return parser.parse_args()


def main() -> int:
    """0, or 1 where digests differ or are missing; what is new has nothing to differ from."""
    arguments = _parsed()
    logging.disable(logging.ERROR)
    onnxruntime.set_default_logger_severity(4)
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    if arguments.command == "compare" and arguments.other:
        after = json.loads(arguments.other.read_text())
    else:
        start = time.perf_counter()
        after = record(_listed(arguments), arguments.keep)
        print(f"{len(after)} digests in {time.perf_counter() - start:.0f} s")
    if arguments.command == "record":
        arguments.file.write_text(json.dumps(after, indent=1, sort_keys=True) + "\n")
        return 0
    before = json.loads(arguments.file.read_text())
    if arguments.only:
        before = {key: value for key, value in before.items() if key in after or arguments.only in key}
    if not arguments.zoo and not arguments.other:
        before = {key: value for key, value in before.items() if not key.startswith("zoo: ")}
    lines = differences(before, after)
    print("\n".join(lines) if lines else "all the same")
    return int(any(not line.startswith("new") for line in lines))


if __name__ == "__main__":
    sys.exit(main())
