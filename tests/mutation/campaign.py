"""Mutants one after the other, in a copy of the checkout; what survived is told with its change."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import signal
import sys
import time
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from .__main__ import parser
from .mutants import Mutant, chosen
from .reached import Reached, traced
from .rooms import ROOMS, ROOT
from .trial import changed, passes

LEAST = 0.9
PATIENCE = 60.0, 10.0  # seconds, and times what the tests take on the code as it is
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


def equivalent(mutant: Mutant) -> str:
    """Why this mutant does what the code does, or nothing."""
    change = (mutant.file, *mutant.difference())
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return next((each["why"] for each in entries if (each["file"], each["gone"], each["come"]) == change), "")


@cache
def reached(room: str) -> Reached:
    """Which tests of the room run which lines."""
    return traced(ROOMS[room])


def outcome_of(mutant: Mutant) -> str:
    """What the tests of its room say that run the changed lines."""
    near, _ = ROOMS[mutant.room].nearest(mutant.file)
    known = reached(mutant.room)
    tests = known.tests_of(mutant.file, mutant.statement(), near)
    if not tests:
        return "survived: no test of its room runs it"
    least, times = PATIENCE
    with changed(mutant, ROOT):
        passed = passes(tests, least + times * sum(known.seconds[test] for test in tests))
    return "survived" if passed else "fell" if passed is False else "fell: no end, or the end of the process"


def tell(mutant: Mutant, outcome: str) -> None:
    """One line; for a survivor, what ``equivalent.toml`` would hold."""
    print(f"# {mutant.file}:{mutant.lines.start} {mutant.operator.removeprefix('core/')}: {outcome}", flush=True)
    if outcome.startswith("survived"):
        gone, come = mutant.difference()
        print(f"[[mutant]]\nfile = {mutant.file!r}\ngone = {gone!r}\ncome = {come!r}\nwhy = ''", flush=True)


def main() -> int:
    """Try them, and count."""
    arguments = parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no process of a trial is left
    rooms = arguments.room or list(ROOMS)
    end = time.monotonic() + 60 * arguments.minutes
    counts: Counter[str] = Counter()
    for mutant in chosen(rooms, arguments.mutants, arguments.seed)[arguments.first :]:
        if time.monotonic() > end:
            break
        outcome = "equivalent" if equivalent(mutant) else outcome_of(mutant)
        counts[outcome] += 1
        tell(mutant, outcome)
    counted = sum(counts.values()) - counts["equivalent"]
    fallen = sum(count for outcome, count in counts.items() if outcome.startswith("fell"))
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()), end=" - ")
    print(f"{fallen} of {counted} fell ({100 * fallen / max(counted, 1):.1f} %)")
    return 0 if fallen >= LEAST * counted else 1


if __name__ == "__main__":
    sys.exit(main())
