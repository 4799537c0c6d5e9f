"""``python -m tests.fuzz --minutes N``: broken models, samples, caches, option values and plugins, until time is over.

Exit status 1 where an exception was not ours, a call hung, or a file was half written.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import math
import sys
from collections import Counter

from .campaign import FAMILIES, campaign, main_of
from .options import pairs

SEED = 20261128


def main() -> int:
    """Run, and tell what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--attacks", type=int, metavar="N", help="up to the N-th of each family, no time limit")
    parser.add_argument("--first", type=int, default=0, help="number of the first attack")
    parser.add_argument("--every-value", action="store_true", help="every option with every value once, no time limit")
    parser.add_argument("--only", choices=sorted(FAMILIES), action="append", help="families (default: all)")
    parser.add_argument("--again", type=int, metavar="NUMBER", help="one attack of --only, with its traceback")
    arguments = parser.parse_args()
    families = arguments.only or list(FAMILIES)
    if arguments.again is not None:
        main_of(families[0], arguments.seed, arguments.again)
        return 0
    seconds, most = 60 * arguments.minutes, None
    if arguments.every_value:
        seconds, families, most = math.inf, ["options"], pairs()
    elif arguments.attacks:
        seconds, most = math.inf, arguments.attacks
    found = campaign(seconds, arguments.seed, families, arguments.first, most)
    kinds = Counter(text.strip().splitlines()[-1][:160] for _, _, text in found.wrong)
    for family, number, text in found.wrong:
        print(f"--- {family} {number}: {text}\n")
    for kind, count in kinds.most_common():
        print(f"{count:5} {kind}")
    print(", ".join(f"{count} {family}" for family, count in found.tried.items()), f"- {len(found.wrong)} went wrong")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
