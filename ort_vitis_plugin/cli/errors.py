"""``ort-vitis errors``: where a quantized model strays from the float one, tensor by tensor."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import Any

from .data_arguments import add_data, data_reader
from .quantize import add_configuration, configuration

SHOWN = 20


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "errors",
        help="compare a quantized model with its float model, tensor by tensor",
        description="SQNR of each quantized tensor, worst first: through all that is quantized before it, and of its "
        "own pair alone. Say how the model was quantized (preset, --cle, ...): the float model is prepared likewise.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="the float model")
    parser.add_argument("quantized", metavar="QUANTIZED", help="the quantized model")
    add_data(parser, otherwise="default: one random sample")
    parser.add_argument("--all", action="store_true", help=f"list every tensor, not only the {SHOWN} worst")
    add_configuration(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run both models on the samples; one row per tensor."""
    from ort_vitis_plugin.entry.quantize_static import prepared
    from ort_vitis_plugin.measure.layer_errors import layer_errors
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.report.tables import table, wide_console

    quantized = load_model(arguments.quantized)
    reference = prepared(arguments.model, **configuration(arguments, shared_catalog()))
    found = layer_errors(reference, quantized, data_reader(arguments))
    rows = ((row.tensor, row.producer, f"{row.through:.1f} dB", f"{row.alone:.1f} dB") for row in found)
    headings = ("tensor", "made by", "#through", "#alone")
    limit = None if arguments.all else SHOWN
    wide_console().print(table("Against float, worst first", headings, rows, limit=limit))
    return 0
