"""Quantize a classifier for the NPU from a folder of pictures, and judge it by their labels."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from pathlib import Path

import onnxruntime as ort

from ort_vitis_plugin import Pictures, calibration_data, quantize_static
from ort_vitis_plugin.demo.export import export_demo


def main(folder: Path) -> None:
    """Write the demo's files to the folder, quantize, and print how often both models are right."""
    export_demo(folder)
    pictures = Pictures(folder / "pictures", scale=1 / 240)
    result = quantize_static(folder / "digits.onnx", folder / "int8.onnx", pictures, extra_options={"Preset": "XINT8"})
    result.report.print()
    labelled = list(calibration_data(Pictures(folder / "pictures", scale=1 / 240)).bound_to(result.model).labelled())
    for name in ("digits.onnx", "int8.onnx"):
        session = ort.InferenceSession(folder / name, providers=["CPUExecutionProvider"])
        right = sum(int(session.run(None, feed)[0].argmax()) == int(label[0]) for feed, label in labelled)
        print(f"{name}: {right} of {len(labelled)} right")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "digits_demo"))
