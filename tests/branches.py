"""``python -m tests.branches``: the share of branches that tests took, by the data that coverage left.

At least 95 of 100, in the rooms that read and write files and that callers come through. Needs the extra [coverage],
and ``coverage run -m pytest ... && coverage combine`` before it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

ROOMS = ("onnx_io", "data_readers", "calibration", "entry")
LEAST = 0.95


def shares(report: dict[str, dict[str, dict[str, dict[str, int]]]]) -> dict[str, tuple[int, int]]:
    """Branches that were taken, and all, by room; ``report`` is coverage's JSON."""
    found = dict.fromkeys(ROOMS, (0, 0))
    for file, entry in report["files"].items():
        room = next((part for part in Path(file).parts if part in ROOMS), None)
        if room is not None:
            taken, every = found[room]
            summary = entry["summary"]
            found[room] = taken + summary["covered_branches"], every + summary["num_branches"]
    return found


def main() -> int:
    """Read ``.coverage``, and tell."""
    from coverage import Coverage
    from coverage.exceptions import NoDataError

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "coverage.json"
        coverage = Coverage()
        coverage.load()
        try:
            coverage.json_report(outfile=str(file), include=[f"*/ort_vitis_plugin/{room}/*" for room in ROOMS])
        except NoDataError:
            sys.exit("coverage has left no data here: coverage run -m pytest ... && coverage combine")
        found = shares(json.loads(file.read_text(encoding="utf-8")))
    taken, every = (sum(each) for each in zip(*found.values(), strict=True))
    for room, (some, of) in {**found, "all": (taken, every)}.items():
        print(f"{room}: {some} of {of} branches ({100 * some / max(of, 1):.1f} %)")
    return 0 if every and taken >= LEAST * every else 1


if __name__ == "__main__":
    sys.exit(main())
