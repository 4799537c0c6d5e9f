"""``ort-vitis demo``: the bundled network of handwritten digits, quantized for the NPU and judged on unseen digits."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import Any


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "demo",
        help="quantize the bundled network and compare",
        description="Quantize a bundled, trained network with the configuration recommended for CNNs on the NPU.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("-o", "--output", metavar="OUT", help="keep the quantized model in this file")


def run(arguments: argparse.Namespace) -> int:
    """Quantize the demo network; print accuracy before and after, SQNR of the logits, and sizes."""
    import numpy as np
    import onnx

    from ort_vitis_plugin import custom_ops
    from ort_vitis_plugin.demo import data
    from ort_vitis_plugin.entry.quantize_static import quantize_static
    from ort_vitis_plugin.numerics.sqnr import sqnr_db
    from ort_vitis_plugin.onnx_io.sessions import open_session
    from ort_vitis_plugin.report.tables import table, wide_console

    result = quantize_static(
        data.model_path(),
        arguments.output,
        data.calibration_reader(),
        extra_options={"Preset": "ipu_cnn"},
    )
    result.report.print()
    sessions = [open_session(model, [custom_ops.register]) for model in (onnx.load(data.model_path()), result.model)]
    before, after = (data.evaluate(session) for session in sessions)
    logits = [np.concatenate([session.run(None, feed)[0] for feed in data.evaluation_feeds()]) for session in sessions]
    digits = len(data.evaluation_labels())
    rows = (
        (f"float accuracy on {digits} unseen digits", f"{before:.1%}"),
        (f"int8 accuracy on {digits} unseen digits", f"{after:.1%}"),
        ("SQNR of the logits", f"{sqnr_db(*logits):.1f} dB"),
        ("float model", f"{result.report.float_bytes:,} bytes"),
        ("int8 model", f"{result.report.quantized_bytes:,} bytes"),
    )
    wide_console().print(table("Handwritten digits, quantized for the NPU (ipu_cnn)", ("", "#"), rows))
    if result.path is not None:
        print(f"written: {result.path}")
    return 0
