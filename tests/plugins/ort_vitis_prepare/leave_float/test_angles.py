"""An angle of many periods stays float, back to the product that makes it; one of few is data like any other."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.testing import graph

TEXT = "t (float[1, 4] x) => (float[1, 4] y) { [turn] a = Mul(x, w) [sin] s = Sin(a) [end] y = Mul(s, s) }"


@pytest.mark.parametrize("kind", [QuantType.QInt8, QuantType.QInt16], ids=str)
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_codes_resolve_so_many_periods(kind: Any, share: float) -> None:
    """64 steps to a period: 2 pi / 64 times the codes of one sign."""
    most = 2 * np.pi / 64 * 2 ** (7 if kind is QuantType.QInt8 else 15)
    w = np.full((1, 4), share * most, np.float32)
    samples = [{"x": np.full((1, 4), value, np.float32)} for value in (-1, 0.5, 1)]
    report = quantize_static(
        graph(TEXT, 17, {"w": w}),
        None,
        samples,
        calibrate_method=CalibrationMethod.MinMax,
        activation_type=kind,
        weight_type=kind,
        op_types_to_quantize=["Sin", "Mul"],
        extra_options={"Target": "cpu", "SelfCheck": False},
    ).report
    assert ("turn" in report.left_float) == (share > 1)
    if share > 1:
        assert f"periods, which {report.configuration['weight_type']} does not resolve" in report.left_float["turn"]
