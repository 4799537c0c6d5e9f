"""Find the tensors that lose most, and give these sixteen bits."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.entry.quantize_static import prepared
from ort_vitis_plugin.measure.layer_errors import layer_errors

COUNT = 4
OPTIONS = {"Preset": "A8W8", "Format": "VitisQuantFormat.QDQ"}


def main() -> tuple[float, float]:
    """The decibels before and after."""
    first = quantize_static(data.model_path(), None, data.calibration_reader(32), extra_options=OPTIONS)
    reference = prepared(data.model_path(), extra_options=OPTIONS)
    found = layer_errors(reference, first.model, data.calibration_reader(8))
    activations = [error for error in found if error.producer]
    worst = sorted(activations, key=lambda error: error.alone)[:COUNT]
    overrides = {error.tensor: [{"quant_type": "QInt16"}] for error in worst}
    options = {**OPTIONS, "TensorQuantOverrides": overrides}
    second = quantize_static(data.model_path(), None, data.calibration_reader(32), extra_options=options)
    before, after = first.report.sqnr["logits"], second.report.sqnr["logits"]
    print(f"{before:.1f} dB, with sixteen bits for {', '.join(overrides)}: {after:.1f} dB")
    return before, after


if __name__ == "__main__":
    main()
