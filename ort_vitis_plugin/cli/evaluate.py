"""``ort-vitis evaluate``: how far a quantized model strays from the float one, output by output."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .data_arguments import add_data, data_reader

if TYPE_CHECKING:
    from onnx import ModelProto

    from ort_vitis_plugin.data_readers import CalibrationData


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "evaluate", help="compare a quantized model with its float model", description="SQNR of each output."
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="the float model")
    parser.add_argument("quantized", metavar="QUANTIZED", help="the quantized model")
    add_data(parser, otherwise="default: one random sample. Class folders of pictures are labels")


def _show_accuracy(model: ModelProto, quantized: ModelProto, reader: CalibrationData) -> None:
    """How often each model is right, where the samples have labels."""
    from ort_vitis_plugin import custom_ops
    from ort_vitis_plugin.data_readers import adapt_feed
    from ort_vitis_plugin.measure.top1 import top1
    from ort_vitis_plugin.onnx_io.sessions import open_session
    from ort_vitis_plugin.report.tables import wide_console

    left, right = (open_session(part, [custom_ops.register]) for part in (model, quantized))
    runs = (lambda feed: left.run(None, feed), lambda feed: right.run(None, adapt_feed(quantized, feed)))
    counts, rows = top1(runs, reader.bound_to(model).labelled())
    if rows:
        shares = [count / rows for count in counts]
        text = f"right: {shares[0]:.2%} float, {shares[1]:.2%} quantized ({rows} samples with labels)"
        wide_console().print(text, highlight=False)


def run(arguments: argparse.Namespace) -> int:
    """Run both models on the samples; one row per output."""
    from ort_vitis_plugin.data_readers import RandomDataReader, Samples
    from ort_vitis_plugin.measure.evaluate import compare
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.plugin.op_functions import with_definitions
    from ort_vitis_plugin.report.tables import table, wide_console

    model, quantized = load_model(arguments.model), with_definitions(load_model(arguments.quantized))
    reader = data_reader(arguments)
    found = compare(model, quantized, Samples(RandomDataReader(model) if reader is None else reader, model))
    rows = ((name, f"{each.sqnr:.1f} dB", f"{each.largest:.3g}") for name, each in found.items())
    wide_console().print(table("Against float", ("output", "#SQNR", "#largest difference"), rows))
    for name, each in found.items():
        if each.other_sizes:
            print(f"{name}: its size depends on the data; {each.other_sizes} samples have another than in float")
    if reader is not None:
        _show_accuracy(model, quantized, reader)
    return 0
