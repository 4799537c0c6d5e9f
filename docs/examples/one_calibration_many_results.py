"""Run the samples once, then compare methods and types by decibels."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin import calibrate, quantize_static
from ort_vitis_plugin.demo import data

METHODS = ("MinMSE", "NonOverflow", "MinMax", "Percentile")


def main() -> None:
    """Print a line for each method and type."""
    calibration = calibrate(data.model_path(), data.calibration_reader())
    for method in METHODS:
        for activation in ("QUInt8", "QInt16"):
            result = quantize_static(
                data.model_path(),
                None,
                calibration=calibration,
                quant_format="VitisQuantFormat.QDQ",
                calibrate_method=method,
                activation_type=activation,
                weight_type="QInt8",
            )
            print(f"{method:12} {activation:7} {result.report.sqnr['logits']:.1f} dB")


if __name__ == "__main__":
    main()
