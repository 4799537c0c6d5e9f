"""``ort-vitis evaluate``: how far a quantized model strays from the float one, output by output."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from .data_arguments import data_options, data_reader
from .gates import MAX_DROP, MIN_SQNR, below, dropped, share
from .output import Output
from .pair import checked_pair
from .verb import verb

if TYPE_CHECKING:
    from onnx import ModelProto

    from ort_vitis_plugin.data_readers import CalibrationData


@verb(
    "evaluate",
    examples=(
        "ort-vitis evaluate digits.onnx digits.ipu_cnn.onnx --data samples.npz",
        "ort-vitis evaluate digits.onnx digits.ipu_cnn.onnx --data pictures --max-drop 1%",
    ),
)
@click.argument("model", metavar="MODEL")
@click.argument("quantized", metavar="QUANTIZED")
@data_options(otherwise="default: one random sample. Class folders of pictures are labels")
@click.option(
    MIN_SQNR, "min_sqnr", metavar="DB", type=float, panel="Gates", help="Exit with 3 where an output is below."
)
@click.option(
    MAX_DROP, "max_drop", metavar="SHARE", panel="Gates", help="Exit with 3 where accuracy falls by more (1%)."
)
def evaluate_verb(
    out: Output, model: str, quantized: str, min_sqnr: float | None, max_drop: str | None, **flags: Any
) -> int:
    """SQNR of each output; with labels also how often each model is right.

    Raises:
        OptionError: a gate asks for labels, and there are none.
    """
    from ort_vitis_plugin.data_readers import RandomDataReader, Samples
    from ort_vitis_plugin.errors import OptionError
    from ort_vitis_plugin.measure.evaluate import compare

    most = None if max_drop is None else share(max_drop)
    before, after = checked_pair(model, quantized)
    reader = data_reader(flags)
    found = compare(before, after, Samples(RandomDataReader(before) if reader is None else reader, before))
    rows = ((name, f"{decibels:.1f} dB", f"{largest:.3g}") for name, (decibels, largest) in found.items())
    out.table("Against float", ("output", "#SQNR", "#largest difference"), rows)
    data: dict[str, Any] = {"sqnr": {name: decibels for name, (decibels, _) in found.items()}}
    right = None if reader is None else _accuracy(before, after, reader)
    if right is not None:
        shares, count = right
        out.print(f"right: {shares[0]:.2%} float, {shares[1]:.2%} quantized ({count} samples with labels)")
        data["accuracy"] = {"float": shares[0], "quantized": shares[1], "samples": count}
    elif most is not None:
        raise OptionError(f"{MAX_DROP} needs samples with labels: --data FOLDER with a folder of pictures per class")
    out.data(data)
    gates = [below(data["sqnr"], min_sqnr)]
    gates += [dropped(*right[0], most)] if right is not None else []
    return max(gates)


def _accuracy(
    model: ModelProto, quantized: ModelProto, reader: CalibrationData
) -> tuple[tuple[float, float], int] | None:
    """How often each model is right, and of how many samples; None where the samples have no labels."""
    from ort_vitis_plugin import custom_ops
    from ort_vitis_plugin.data_readers import adapt_feed
    from ort_vitis_plugin.measure.top1 import top1
    from ort_vitis_plugin.onnx_io.sessions import open_session

    left, right = (open_session(part, [custom_ops.register]) for part in (model, quantized))
    runs = (lambda feed: left.run(None, feed), lambda feed: right.run(None, adapt_feed(quantized, feed)))
    counts, rows = top1(runs, reader.bound_to(model).labelled())
    return ((counts[0] / rows, counts[1] / rows), rows) if rows else None
