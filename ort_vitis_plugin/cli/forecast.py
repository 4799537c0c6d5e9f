"""``ort-vitis forecast``: which nodes of a float model the device will take, and why not the others."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import Any

from .shape_arguments import add_shapes, given_shapes


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
    parser.add_argument("--all", action="store_true", help="list every node")
    add_shapes(parser)


def run(arguments: argparse.Namespace) -> int:
    """Why nodes stay away from the device and what to do about it, and a count."""
    from ort_vitis_plugin.analysis.placement_forecast import forecast_of
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.report.tables import cause_table, table, wide_console

    found = forecast_of(arguments.model, arguments.preset, shared_catalog(), fix_shapes=given_shapes(arguments))
    placed = found.placements
    console = wide_console()
    if arguments.all:
        rows = [(entry.node, entry.op_type, entry.reason or "on the device") for entry in placed]
        console.print(table(f"Placement on {arguments.preset}", ("node", "op type", "where"), rows))
    if causes := found.causes():
        console.print(cause_table(f"Not for {arguments.preset}", causes))
        for cause in causes:
            if cause.remedy:
                console.print(str(cause), highlight=False, markup=False, soft_wrap=True)
    taken = sum(entry.reason is None for entry in placed)
    console.print(f"{arguments.preset} takes {taken} of {len(placed)} nodes", highlight=False)
    return 0
