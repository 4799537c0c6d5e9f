"""``ort-vitis docs``: the tables of README.md and the map in DESIGN.md, written from the code."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "docs", help="write the generated tables of README.md and the map in DESIGN.md"
    )
    parser.set_defaults(run=run)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a table is stale")
    parser.add_argument("--root", metavar="FOLDER", help="the source checkout (default: that of this package)")


def run(arguments: argparse.Namespace) -> int:
    """Rewrite the blocks between the markers, or only check them."""
    from ort_vitis_plugin.reference.pages import stale_blocks, write_blocks

    root = Path(arguments.root) if arguments.root else Path(__file__).resolve().parents[2]
    if arguments.check:
        stale = stale_blocks(root)
        for name in stale:
            print(f"stale: {name}; run python -m ort_vitis_plugin docs")
        return 1 if stale else 0
    for name in write_blocks(root):
        print(f"written: {name}")
    return 0
