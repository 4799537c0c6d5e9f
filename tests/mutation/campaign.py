"""Mutants one after the other, in a copy of the checkout; what survived is told with its change."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
import time
import tomllib
from collections import Counter
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


def survives(mutant: Mutant) -> bool:
    """Whether all tests of its room pass; those that name its module come first."""
    near, others = ROOMS[mutant.room].nearest(mutant.file)
    with changed(mutant, ROOT):
        return all(not tests or passes(tests, seconds) is True for tests, seconds in ((near, NEAR), (others, ALL)))


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
        outcome = "equivalent" if equivalent(mutant) else "survived" if survives(mutant) else "fell"
        counts[outcome] += 1
        tell(mutant, outcome)
    for room in rooms:
        if counts["fell"] and passes(list(ROOMS[room].tests), ALL) is not True:
            print(f"the tests of {room} fail without any mutant: what fell tells nothing")
            return 1
    counted = counts["fell"] + counts["survived"]
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()), end=" - ")
    print(f"{counts['fell']} of {counted} fell ({100 * counts['fell'] / max(counted, 1):.1f} %)")
    return 0 if counts["fell"] >= LEAST * counted else 1


if __name__ == "__main__":
    sys.exit(main())
