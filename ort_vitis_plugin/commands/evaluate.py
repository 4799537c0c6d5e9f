"""``ort-vitis evaluate``: how far a quantized model strays from the float one, output by output."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from .data_arguments import add_data, data_reader

if TYPE_CHECKING:
    from onnx import ModelProto

    from ort_vitis_plugin.data_readers import CalibrationData, Feed


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "evaluate", help="compare a quantized model with its float model", description="SQNR of each output."
    )
    parser.set_defaults(answer=answer)
    parser.add_argument("model", metavar="MODEL", help="the float model")
    parser.add_argument("quantized", metavar="QUANTIZED", help="the quantized model")
    add_data(parser, otherwise="default: one random sample. Class folders of pictures are labels")


def compare(model: ModelProto, quantized: ModelProto, feeds: Iterable[Feed]) -> dict[str, tuple[float, float]]:
    """{output: (SQNR in dB, largest difference)} over all samples; nothing but sums is kept of them."""
    import math

    import numpy as np

    from ort_vitis_plugin import custom_ops
    from ort_vitis_plugin.checking import open_session
    from ort_vitis_plugin.data_readers import adapt_feed
    from ort_vitis_plugin.errors import CalibrationError, ModelError

    left, right = (open_session(part, [custom_ops.register]) for part in (model, quantized))
    names = [value.name for value in left.get_outputs()]
    missing = set(names) - {value.name for value in right.get_outputs()}
    if missing:
        raise ModelError(f"the quantized model has no output {sorted(missing)[0]!r}; is it made from this float model?")
    adapt = partial(adapt_feed, quantized)
    signal, noise, largest = (dict.fromkeys(names, 0.0) for _ in range(3))
    count = 0
    for feed in feeds:
        count += 1
        for name, f, q in zip(names, left.run(names, feed), right.run(names, adapt(feed)), strict=True):
            if not isinstance(f, np.ndarray) or f.dtype.kind != "f" or not f.size:
                continue
            f = f.astype(np.float64)
            difference = f - np.asarray(q, dtype=np.float64)
            signal[name] += float(np.sum(f**2))
            noise[name] += float(np.sum(difference**2))
            largest[name] = max(largest[name], float(np.max(np.abs(difference))))
    if not count:
        raise CalibrationError("there is no sample to compare on")
    return {
        name: (
            math.inf if not noise[name] else 10 * math.log10(max(signal[name], 1e-300) / noise[name]),
            largest[name],
        )
        for name in names
    }


def _show_accuracy(model: ModelProto, quantized: ModelProto, reader: CalibrationData) -> None:
    """How often each model is right, where the samples have labels."""
    from ort_vitis_plugin import custom_ops
    from ort_vitis_plugin.checking import open_session
    from ort_vitis_plugin.data_readers import adapt_feed
    from ort_vitis_plugin.report_view import wide_console
    from ort_vitis_plugin.top1 import top1

    left, right = (open_session(part, [custom_ops.register]) for part in (model, quantized))
    runs = (lambda feed: left.run(None, feed), lambda feed: right.run(None, adapt_feed(quantized, feed)))
    counts, rows = top1(runs, reader.bound_to(model).labelled())
    if rows:
        shares = [count / rows for count in counts]
        text = f"right: {shares[0]:.2%} float, {shares[1]:.2%} quantized ({rows} samples with labels)"
        wide_console().print(text, highlight=False)


def answer(arguments: argparse.Namespace) -> int:
    """Run both models on the samples; one row per output."""
    from ort_vitis_plugin.data_readers import RandomDataReader, Samples
    from ort_vitis_plugin.loading import load_model
    from ort_vitis_plugin.report_view import table, wide_console

    model, quantized = load_model(arguments.model), load_model(arguments.quantized)
    reader = data_reader(arguments)
    found = compare(model, quantized, Samples(RandomDataReader(model) if reader is None else reader, model))
    rows = ((name, f"{decibels:.1f} dB", f"{largest:.3g}") for name, (decibels, largest) in found.items())
    wide_console().print(table("Against float", ("output", "#SQNR", "#largest difference"), rows))
    if reader is not None:
        _show_accuracy(model, quantized, reader)
    return 0
