"""``ort-vitis evaluate``: how far a quantized model strays from the float one, and what that costs its user."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import rich_click as click

from .data_arguments import data_options, data_reader
from .gates import MAX_DROP, MIN_SQNR, below, dropped, share
from .metric_names import metric_named
from .output import Output
from .pair import checked_pair
from .verb import verb


@verb(
    "evaluate",
    examples=(
        "ort-vitis evaluate digits.onnx digits.ipu_cnn.onnx --data samples.npz",
        "ort-vitis evaluate digits.onnx digits.ipu_cnn.onnx --data pictures --max-drop 1%",
        "ort-vitis evaluate digits.onnx digits.ipu_cnn.onnx --data samples.npz --labels labels.csv --metric top5",
    ),
)
@click.argument("model", metavar="MODEL")
@click.argument("quantized", metavar="QUANTIZED")
@data_options(otherwise="default: one random sample. Class folders of pictures are labels")
@click.option("--labels", metavar="FILE", panel="Samples", help="A CSV file: its last column is the class of each row.")
@click.option(
    "--metric",
    metavar="NAME",
    help="sqnr, top1, top5, cosine, psnr, or FILE.py:FUNCTION of a session (default: top1 with labels, else sqnr).",
)
@click.option(
    MIN_SQNR, "min_sqnr", metavar="DB", type=float, panel="Gates", help="Exit with 3 where an output is below."
)
@click.option(
    MAX_DROP, "max_drop", metavar="SHARE", panel="Gates", help="Exit with 3 where the score falls by more (1%)."
)
def evaluate_verb(
    out: Output,
    model: str,
    quantized: str,
    labels: str | None,
    metric: str | None,
    min_sqnr: float | None,
    max_drop: str | None,
    **flags: Any,
) -> int:
    """SQNR of each output, time and size; with labels also how often each model is right.

    Raises:
        OptionError: a gate asks for labels, and there are none.
    """
    from ort_vitis_plugin.errors import OptionError
    from ort_vitis_plugin.measure.evaluation import BEST, SQNR, TOP1, evaluate

    most = None if max_drop is None else share(max_drop)
    checked_pair(model, quantized)
    reader = data_reader(flags)
    has_labels = labels is not None or (reader is not None and reader.has_labels)
    if most is not None and metric is None and not has_labels:
        raise OptionError(
            f"{MAX_DROP} needs samples with labels: --labels FILE, or --data FOLDER with a folder of pictures per class"
        )
    chosen = metric if metric is not None else TOP1 if has_labels else SQNR
    found = evaluate(model, quantized, reader, metric_named(chosen), labels)
    rows = ((name, f"{each.sqnr:.1f} dB", f"{each.largest:.3g}") for name, each in found.outputs.items())
    out.table("Against float", ("output", "#SQNR", "#largest difference"), rows)
    for name, each in found.outputs.items():
        if each.other_sizes:
            out.print(f"{name}: its size depends on the data; {each.other_sizes} samples have another than in float")
    data = found.as_dict()
    data["sqnr"] = {name: each.sqnr for name, each in found.outputs.items()}
    if found.metric in BEST:
        shares = f"{found.float_score:.2%} float, {found.quantized_score:.2%} quantized"
        out.print(f"right: {shares} ({found.samples} samples with labels)")
        data["accuracy"] = {
            "float": found.float_score,
            "quantized": found.quantized_score,
            "samples": found.samples,
        }
    elif found.metric != SQNR:
        out.print(f"{found.metric}: {found.float_score:.6g} float, {found.quantized_score:.6g} quantized")
    out.print(f"time: {found.latency[0]:.2f} ms float, {found.latency[1]:.2f} ms quantized (median, this CPU)")
    out.print(f"size: {found.size[0]:,} bytes float, {found.size[1]:,} bytes quantized")
    out.data(data)
    return max(below(data["sqnr"], min_sqnr), dropped(found.float_score, found.quantized_score, most))
