"""``ort-vitis demo``: the bundled network of handwritten digits, quantized for the NPU and judged on unseen digits."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import rich_click as click

from .output import Output
from .verb import verb


@verb("demo", examples=("ort-vitis demo", "ort-vitis demo --export digits"))
@click.option("-o", "--output", metavar="OUT", help="Keep the quantized model in this file.")
@click.option(
    "--export",
    "folder",
    metavar="FOLDER",
    help="Quantize nothing: write digits.onnx, samples.npz and pictures/CLASS/*.png there, to try every verb on.",
)
def demo_verb(out: Output, output: str | None, folder: str | None) -> None:
    """Quantize a bundled, trained network as recommended for CNNs on the NPU, and compare."""
    if folder is not None:
        from ort_vitis_plugin.demo.export import export_demo

        written = [str(file) for file in export_demo(folder)]
        for file in written:
            out.print(f"written: {file}")
        out.data({"written": written})
        return
    _compare(out, output)


def _compare(out: Output, output: str | None) -> None:
    """Print accuracy before and after, SQNR of the logits, and sizes."""
    import numpy as np
    import onnx

    from ort_vitis_plugin import custom_ops
    from ort_vitis_plugin.demo import data
    from ort_vitis_plugin.entry.quantize_static import quantize_static
    from ort_vitis_plugin.numerics.sqnr import sqnr_db
    from ort_vitis_plugin.onnx_io.sessions import open_session

    result = quantize_static(data.model_path(), output, data.calibration_reader(), extra_options={"Preset": "ipu_cnn"})
    if out.shows:
        result.report.print()
    sessions = [open_session(model, [custom_ops.register]) for model in (onnx.load(data.model_path()), result.model)]
    before, after = (data.evaluate(session) for session in sessions)
    logits = [np.concatenate([session.run(None, feed)[0] for feed in data.evaluation_feeds()]) for session in sessions]
    digits = len(data.evaluation_labels())
    decibels = sqnr_db(*logits)
    rows = (
        (f"float accuracy on {digits} unseen digits", f"{before:.1%}"),
        (f"int8 accuracy on {digits} unseen digits", f"{after:.1%}"),
        ("SQNR of the logits on them (above: on calibration samples)", f"{decibels:.1f} dB"),
        ("float model", f"{result.report.float_bytes:,} bytes"),
        ("int8 model", f"{result.report.quantized_bytes:,} bytes"),
    )
    out.table("Handwritten digits, quantized for the NPU (ipu_cnn)", ("", "#"), rows)
    if result.path is not None:
        out.print(f"written: {result.path}")
    out.data(
        {"float": before, "quantized": after, "digits": digits, "sqnr": decibels, "report": result.report.as_dict()}
    )
