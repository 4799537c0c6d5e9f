"""onnxruntime's own quantize_static, as the yardstick: preprocessed first, asymmetric uint8 activations."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

if TYPE_CHECKING:
    from pathlib import Path

METHODS = {"ORT MinMax": CalibrationMethod.MinMax, "ORT Percentile": CalibrationMethod.Percentile}


def quantize_plainly(model: str, folder: Path, reader: Any, method: str) -> Path:
    """Quantize the file ``model`` into ``folder``; where preprocessing fails, without it."""
    prepared, output = folder / "prepared.onnx", folder / "quantized.onnx"
    try:
        quant_pre_process(model, str(prepared), skip_symbolic_shape=True)
        source = str(prepared)
    except Exception:
        source = model
    quantize_static(
        source,
        str(output),
        reader,
        quant_format=QuantFormat.QDQ,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=METHODS[method],
    )
    return output
