"""``ort-vitis forecast``: which nodes of a float model the device will take, and why not the others."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import rich_click as click

from .output import Output
from .shape_arguments import given_shapes, shape_options
from .verb import verb


@verb("forecast", examples=("ort-vitis forecast digits.onnx", "ort-vitis forecast digits.onnx --all --fix-dim N=1"))
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option("--preset", metavar="NAME", default="ipu_cnn", help="The target or preset (default: ipu_cnn).")
@click.option("--all", "everything", is_flag=True, help="List every node.")
@shape_options
def forecast_verb(
    out: Output,
    models: tuple[str, ...],
    preset: str,
    everything: bool,
    fix_shape: tuple[str, ...],
    fix_dim: tuple[str, ...],
) -> None:
    """Which nodes the device will take, and what to do about the others.

    The model is prepared as for quantization; no sample is run.
    """
    shapes = given_shapes(fix_shape, fix_dim)
    data = {model: _forecast(out, model, preset, shapes, everything=everything) for model in models}
    if len(models) > 1:
        rows = [(model, each["taken"], each["nodes"]) for model, each in data.items()]
        out.table("Models", ("model", f"#{preset} takes", "#of nodes"), rows)
    out.data(data[models[0]] if len(models) == 1 else data)


def _forecast(out: Output, model: str, preset: str, shapes: dict[str, Any], *, everything: bool) -> dict[str, Any]:
    from ort_vitis_plugin.analysis.placement_forecast import forecast_of
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.report.tables import cause_table

    catalog = shared_catalog()
    target = str(catalog.preset(preset).recipe.get("Target", preset))
    found = forecast_of(model, target, catalog, fix_shapes=shapes)
    placed, causes = found.placements, found.causes()
    if everything:
        rows = [(entry.node, entry.op_type, entry.reason or "on the device") for entry in placed]
        out.table(f"Placement on {target}", ("node", "op type", "where"), rows)
    if causes and out.shows:
        out.print(cause_table(f"Not for {target}", causes))
    for cause in causes:
        if cause.remedy:
            out.print(str(cause))
    taken = sum(entry.reason is None for entry in placed)
    out.print(f"{target} takes {taken} of {len(placed)} nodes")
    return {
        "target": target,
        "taken": taken,
        "nodes": len(placed),
        "causes": [{"nodes": cause.nodes, "what": cause.what, "remedy": cause.remedy} for cause in causes],
        "placement": {entry.node: entry.reason for entry in placed},
    }
