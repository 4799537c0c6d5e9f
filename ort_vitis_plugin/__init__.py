"""Post-training quantization for AMD NPUs through onnxruntime.quantization.

Importing this package makes onnxruntime's own ``quantize_static`` understand our formats, methods, types and options;
calls that ask for none of them are untouched. ``import ort_vitis_plugin as vai_q_onnx`` runs vai_q_onnx's scripts.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxruntime.quantization import (
    CalibraterBase,
    CalibrationDataReader,
    CalibrationMethod,
    MinMaxCalibrater,
    QuantFormat,
    QuantizationMode,
    QuantType,
    create_calibrator,
    quant_pre_process,
    quantize,
    quantize_dynamic,
    shape_inference,
    write_calibration_table,
)

from .entry.attach import attach, attach_on_import, attached, detach
from .errors import AccuracyWarning, RandomDataWarning
from .lazy import lazily
from .numerics.qtypes import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType

if TYPE_CHECKING:
    from .calibration import Calibration
    from .convert.evaluation_twin import evaluation_twin
    from .custom_ops import get_library_path, register
    from .data_readers import Pictures, RandomDataReader, calibration_data
    from .entry.outcome import last_report
    from .entry.quantize_static import calibrate, quantize_static
    from .report.report import Report, Result

__version__ = "0.1.0"

_HOMES = {
    "Calibration": "calibration",
    "calibrate": "entry.quantize_static",
    "calibration_data": "data_readers",
    "Pictures": "data_readers",
    "RandomDataReader": "data_readers",
    "Report": "report.report",
    "Result": "report.report",
    "dump_model": "analysis.dump",
    "evaluation_twin": "convert.evaluation_twin",
    "get_library_path": "custom_ops",
    "last_report": "entry.outcome",
    "quantize_static": "entry.quantize_static",
    "register": "custom_ops",
}

__all__ = [
    "AccuracyWarning",
    "CalibraterBase",
    "Calibration",
    "CalibrationDataReader",
    "CalibrationMethod",
    "MinMaxCalibrater",
    "Pictures",
    "PowerOfTwoMethod",
    "QuantFormat",
    "QuantType",
    "QuantizationMode",
    "RandomDataReader",
    "RandomDataWarning",
    "Report",
    "Result",
    "VitisQuantFormat",
    "VitisQuantType",
    "attach",
    "attached",
    "calibrate",
    "calibration_data",
    "create_calibrator",
    "detach",
    "dump_model",
    "evaluation_twin",
    "get_library_path",
    "last_report",
    "quant_pre_process",
    "quantize",
    "quantize_dynamic",
    "quantize_static",
    "register",
    "shape_inference",
    "write_calibration_table",
]


__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__


attach_on_import()
