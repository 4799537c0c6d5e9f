"""Mutants one after the other, in a copy of the checkout; what survived is told with its change."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
import time
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from .__main__ import parser
from .mutants import Mutant, chosen
from .rooms import ROOMS, ROOT
from .trial import changed, passes

LEAST = 0.9
NEAR, ALL = 180.0, 1200.0  # seconds for a module's own tests, and for all of its room
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


def equivalent(mutant: Mutant) -> str:
    """Why this mutant does what the code does, or nothing."""
    change = (mutant.file, *mutant.difference())
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return next((each["why"] for each in entries if (each["file"], each["gone"], each["come"]) == change), "")


@cache
def sound(tests: tuple[str, ...]) -> bool:
    """Whether these tests pass on the code as it is; else what falls tells nothing."""
    return passes([*tests], ALL) is True


def outcome_of(mutant: Mutant, *, quick: bool) -> str:
    """What all tests of its room say, those of its module first; ``quick``: those alone."""
    near, others = ROOMS[mutant.room].nearest(mutant.file)
    for tests, seconds in ((near, NEAR), ([] if quick else others, ALL)):
        with changed(mutant, ROOT):
            if not tests or passes(tests, seconds) is True:
                continue
        return "fell" if sound(tuple(tests)) else "fell to tests that fail without it"
    return "survived"


def tell(mutant: Mutant, outcome: str) -> None:
    """One line; for a survivor, what ``equivalent.toml`` would hold."""
    print(f"# {mutant.file}:{mutant.lines.start} {mutant.operator.removeprefix('core/')}: {outcome}", flush=True)
    if outcome == "survived":
        gone, come = mutant.difference()
        print(f"[[mutant]]\nfile = {mutant.file!r}\ngone = {gone!r}\ncome = {come!r}\nwhy = ''", flush=True)


def main() -> int:
    """Try them, and count."""
    arguments = parser().parse_args()
    rooms = arguments.room or list(ROOMS)
    end = time.monotonic() + 60 * arguments.minutes
    counts: Counter[str] = Counter()
    for mutant in chosen(rooms, arguments.mutants, arguments.seed)[arguments.first :]:
        if time.monotonic() > end:
            break
        outcome = "equivalent" if equivalent(mutant) else outcome_of(mutant, quick=arguments.quick)
        counts[outcome] += 1
        tell(mutant, outcome)
    counted = sum(counts.values()) - counts["equivalent"]
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()), end=" - ")
    print(f"{counts['fell']} of {counted} fell ({100 * counts['fell'] / max(counted, 1):.1f} %)")
    return 0 if counts["fell"] >= LEAST * counted else 1


if __name__ == "__main__":
    sys.exit(main())
