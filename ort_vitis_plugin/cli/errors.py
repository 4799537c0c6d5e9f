"""``ort-vitis errors``: where a quantized model strays from the float one, tensor by tensor."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from shlex import quote
from typing import Any

import rich_click as click

from .configuration import configuration_options, keywords_of, said
from .data_arguments import data_options, data_reader
from .output import Output
from .pair import checked_pair
from .provenance import as_recorded
from .verb import verb

SHOWN = 20
LEGEND = (
    "through: all that is quantized before it; alone: its own pair, fed by the float model; clipped: the share of "
    "alone that lies beyond the codes, not between them; weights: its layer's weights, all else float. Low alone is "
    "a cause, low through alone a victim of those before it."
)
PASTED = 3


@verb(
    "errors",
    examples=(
        "ort-vitis errors digits.onnx digits.ipu_cnn.onnx --data samples.npz",
        "ort-vitis errors digits.onnx digits.ipu_cnn.onnx --data samples.npz --top 5 --json -",
    ),
)
@click.argument("model", metavar="MODEL")
@click.argument("quantized", metavar="QUANTIZED")
@data_options(otherwise="default: one random sample")
@click.option("--top", metavar="N", type=click.IntRange(1), default=SHOWN, help=f"List N tensors (default: {SHOWN}).")
@click.option("--all", "everything", is_flag=True, help="List every tensor.")
@configuration_options
def errors_verb(out: Output, model: str, quantized: str, top: int, everything: bool, **flags: Any) -> None:
    """SQNR of each quantized tensor, worst first: through all before it, of its own pair alone, of weights alone.

    The float model is prepared as it was for the quantized one; flags are for files that do not say how.
    """
    from ort_vitis_plugin.entry.quantize_static import prepared
    from ort_vitis_plugin.measure.layer_errors import layer_errors
    from ort_vitis_plugin.report.tables import told_decibels

    found = said(flags)
    before, after = checked_pair(model, quantized)
    reference = prepared(before, **as_recorded(after, keywords_of(found)))
    rows = layer_errors(reference, after, data_reader(flags, found.get("samples")), weights=True)
    out.table(
        "Against float, worst first",
        ("tensor", "made by", "#clipped", "#through", "#alone", "#weights"),
        (
            (r.tensor, r.producer, f"{r.clipped:.0%}", *map(told_decibels, (r.through, r.alone, r.weights)))
            for r in rows
        ),
        limit=None if everything else top,
    )
    out.print(LEGEND)
    causes = [row.tensor for row in sorted(rows, key=lambda row: row.contrast)[:PASTED]]
    out.print(f"to leave the likely causes float: --exclude {' '.join(quote(f'tensor:{name}') for name in causes)}")
    listed = rows if everything else rows[:top]
    out.data(
        [
            {
                "tensor": row.tensor,
                "made_by": row.producer,
                "through": row.through,
                "alone": row.alone,
                "weights": row.weights,
                "contrast": row.contrast,
                "clipped": row.clipped,
            }
            for row in listed
        ]
    )
