"""Tools that build onnxruntime's quantizer themselves get powers of two from ranges of our calibrator."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import QuantType
from onnxruntime.quantization.calibrate import CalibrationDataReader, create_calibrator
from onnxruntime.quantization.qdq_quantizer import QDQQuantizer

from ort_vitis_plugin import PowerOfTwoMethod
from tests.models import networks


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """Digits, each once."""

    def __init__(self) -> None:
        self.rest = iter(networks.digits("digits", 8, 0).calibration)

    def get_next(self) -> dict[str, Any] | None:
        return next(self.rest, None)


@pytest.mark.parametrize("method", list(PowerOfTwoMethod))
@pytest.mark.parametrize("kind", ["QInt8", "QUInt8", "QInt16", "QUInt16"])
@pytest.mark.parametrize("symmetric", [True, False, None], ids=["symmetric", "asymmetric", "not said"])
def test_every_scale_is_a_power_of_two(symmetric: bool | None, kind: str, method: Any, tmp_path: Path) -> None:
    path = networks.network("digits")
    options: dict[str, Any] = {} if symmetric is None else {"symmetric": symmetric}
    if kind != "QInt8":
        options["ActivationType"] = kind
    calibrator = create_calibrator(
        path, None, str(tmp_path / "augmented.onnx"), calibrate_method=method, extra_options=options
    )
    calibrator.collect_data(Reader())
    ranges = calibrator.compute_data()
    quantizer = QDQQuantizer(
        onnx.load(str(path)),
        False,
        False,
        weight_qType=QuantType.QInt8,
        activation_qType=QuantType[kind],
        tensors_range=ranges,
        nodes_to_quantize=[],
        nodes_to_exclude=[],
        op_types_to_quantize=["Conv", "Gemm", "MatMul", "Relu", "Add", "GlobalAveragePool"],
        extra_options={"ActivationSymmetric": bool(symmetric), "UseQDQContribOps": True},
    )
    quantizer.quantize_model()
    scales = {
        tensor.name.removesuffix("_scale"): float(numpy_helper.to_array(tensor))
        for tensor in quantizer.model.model.graph.initializer
        if tensor.name.endswith("_scale") and tensor.name.removesuffix("_scale") in ranges
    }
    assert len(scales) > 5
    assert {name: scale for name, scale in scales.items() if np.frexp(np.float32(scale))[0] != 0.5} == {}


def test_without_a_sample_there_are_no_ranges(tmp_path: Path) -> None:
    """As onnxruntime's own calibrators say it."""

    class Empty(CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> None:
            return None

    path = networks.network("digits")
    calibrator = create_calibrator(path, None, str(tmp_path / "a.onnx"), calibrate_method=PowerOfTwoMethod.MinMSE)
    with pytest.raises(ValueError, match="No data is collected"):
        calibrator.collect_data(Empty())


def test_data_may_come_in_parts(tmp_path: Path) -> None:
    feeds = networks.digits("digits", 8, 0).calibration
    ranges = []
    for parts in ([feeds], [feeds[:3], feeds[3:]]):
        calibrator = create_calibrator(
            networks.network("digits"), None, str(tmp_path / "a.onnx"), calibrate_method=PowerOfTwoMethod.MinMSE
        )
        for part in parts:
            calibrator.collect_data(networks.FeedReader(part))
        ranges.append({name: each.range_value for name, each in calibrator.compute_data().items()})
    assert ranges[0] == ranges[1]
    assert len(ranges[0]) > 3
