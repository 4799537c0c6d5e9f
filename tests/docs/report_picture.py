"""The README's picture is what quantize prints for the bundled network: ``python -m tests.docs.report_picture``."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.demo.export import SAMPLES

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "_static" / "report.svg"
COMMAND = "ort-vitis quantize digits.onnx --data samples.npz --preset XINT8"
WIDTH = 90


def picture() -> str:
    """The closing tables as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    result = quantize_static(
        data.model_path(), None, data.calibration_reader(SAMPLES), extra_options={"Preset": "XINT8"}
    )
    result.report.print(console)
    return console.export_svg(title=COMMAND, unique_id="report")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"written: {PICTURE}")
