"""``ort-vitis errors``: where a quantized model strays from the float one, tensor by tensor."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import rich_click as click

from .configuration import configuration_options, keywords_of, said
from .data_arguments import data_options, data_reader
from .output import Output
from .pair import checked_pair
from .provenance import as_recorded
from .verb import verb

SHOWN = 20


@verb("errors", examples=("ort-vitis errors digits.onnx digits.ipu_cnn.onnx --data samples.npz",))
@click.argument("model", metavar="MODEL")
@click.argument("quantized", metavar="QUANTIZED")
@data_options(otherwise="default: one random sample")
@click.option("--all", "everything", is_flag=True, help=f"List every tensor, not only the {SHOWN} worst.")
@configuration_options
def errors_verb(out: Output, model: str, quantized: str, everything: bool, **flags: Any) -> None:
    """SQNR of each quantized tensor, worst first: through all that is quantized before it, and of its own pair alone.

    The float model is prepared as it was for the quantized one; flags are for files that do not say how.
    """
    from ort_vitis_plugin.entry.quantize_static import prepared
    from ort_vitis_plugin.measure.layer_errors import layer_errors

    found = said(flags)
    before, after = checked_pair(model, quantized)
    reference = prepared(before, **as_recorded(after, keywords_of(found)))
    rows = layer_errors(reference, after, data_reader(flags, found.get("samples")))
    out.table(
        "Against float, worst first",
        ("tensor", "made by", "#through", "#alone"),
        ((row.tensor, row.producer, f"{row.through:.1f} dB", f"{row.alone:.1f} dB") for row in rows),
        limit=None if everything else SHOWN,
    )
    out.data([{"tensor": r.tensor, "made_by": r.producer, "through": r.through, "alone": r.alone} for r in rows])
