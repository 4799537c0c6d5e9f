"""``ort-vitis evaluate``: how far a quantized model strays from the float one, output by output."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import Any

from .quantize import samples


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "evaluate", help="compare a quantized model with its float model", description="SQNR of each output."
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="the float model")
    parser.add_argument("quantized", metavar="QUANTIZED", help="the quantized model")
    parser.add_argument("--data", metavar="FOLDER_OR_NPZ", help="samples, as for quantize; default: one random sample")


def run(arguments: argparse.Namespace) -> int:
    """Run both models on the samples; one row per output."""
    from ort_vitis_plugin.data_readers import RandomDataReader, Samples
    from ort_vitis_plugin.measure.evaluate import compare
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.report.tables import table, wide_console

    model, quantized = load_model(arguments.model), load_model(arguments.quantized)
    reader = samples(arguments.data, arguments.model) or RandomDataReader(model)
    found = compare(model, quantized, Samples(reader, model))
    rows = ((name, f"{decibels:.1f} dB", f"{largest:.3g}") for name, (decibels, largest) in found.items())
    wide_console().print(table("Against float", ("output", "#SQNR", "#largest difference"), rows))
    return 0
