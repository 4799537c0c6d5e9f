"""``ort-vitis forecast``: which nodes of a float model the device will take, and why not the others."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import Any


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "forecast",
        help="which nodes the device will take",
        description="The model is prepared as for quantization; no sample is run.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="the float model")
    parser.add_argument("--preset", metavar="TARGET", default="ipu_cnn", help="the target (default: ipu_cnn)")
    parser.add_argument("--all", action="store_true", help="list the nodes that the device takes too")


def run(arguments: argparse.Namespace) -> int:
    """One row per node that stays away from the device, and a count."""
    from ort_vitis_plugin.analysis.placement_forecast import forecast
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.report.tables import table, wide_console

    placed = forecast(arguments.model, arguments.preset, shared_catalog())
    rows = [
        (entry.node, entry.op_type, entry.reason or "on the device")
        for entry in placed
        if arguments.all or entry.reason is not None
    ]
    console = wide_console()
    if rows:
        console.print(table(f"Placement on {arguments.preset}", ("node", "op type", "where"), rows))
    taken = sum(entry.reason is None for entry in placed)
    console.print(f"{arguments.preset} takes {taken} of {len(placed)} nodes", highlight=False)
    return 0
