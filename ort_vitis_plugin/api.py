"""Everything that a plugin may import."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnxruntime.quantization.calibrate import CalibraterBase, CalibrationMethod, TensorData, TensorsData
from onnxruntime.quantization.operators.qdq_base_operator import QDQOperatorBase
from onnxruntime.quantization.quant_utils import QuantFormat, QuantType

from .call_options import CallOptions
from .data_readers import CHANNELS_LAST
from .declarations import (
    Adjuster,
    Calibrator,
    CustomOpLibrary,
    Declaration,
    Format,
    Fusion,
    ModelTransform,
    OpQuantizer,
    ScaleFormat,
    Stage,
    Target,
    Transform,
    adjuster,
    fusion,
    transform,
)
from .emission import MADE
from .errors import (
    CalibrationError,
    ModelError,
    OptionError,
    QuantizationError,
    UnknownNameError,
    UnsupportedError,
)
from .graph import Graph, attribute, captured_names, rename_captured, subgraphs
from .hookspecs import hookimpl
from .named import follow_node, follow_tensor
from .numerics import along, dequantize, fake_quant, nearest_position, position_of, quantize, scale_of, sqnr_db
from .options import Option, OptionGroup, option
from .parameters import ErrorCurve
from .plan import Bound, Expression, Plan, Position, Role, TensorPlan, largest, least
from .planning.vanishing import is_divisor
from .quantizer import PlannedQDQQuantizer
from .report import Report
from .request import Request, Run
from .settling import check as check_model
from .sketch import Sketch
from .types import PowerOfTwoMethod, QType, VitisQuantFormat, VitisQuantType, qtype
from .weights import array_of, filled, set_aside, set_values

__all__ = [
    "CHANNELS_LAST",
    "MADE",
    "Adjuster",
    "Bound",
    "CalibraterBase",
    "CalibrationError",
    "CalibrationMethod",
    "Calibrator",
    "CallOptions",
    "CustomOpLibrary",
    "Declaration",
    "ErrorCurve",
    "Expression",
    "Format",
    "Fusion",
    "Graph",
    "ModelError",
    "ModelTransform",
    "OpQuantizer",
    "Option",
    "OptionError",
    "OptionGroup",
    "Plan",
    "PlannedQDQQuantizer",
    "Position",
    "PowerOfTwoMethod",
    "QDQOperatorBase",
    "QType",
    "QuantFormat",
    "QuantType",
    "QuantizationError",
    "Report",
    "Request",
    "Role",
    "Run",
    "ScaleFormat",
    "Sketch",
    "Stage",
    "Target",
    "TensorData",
    "TensorPlan",
    "TensorsData",
    "Transform",
    "UnknownNameError",
    "UnsupportedError",
    "VitisQuantFormat",
    "VitisQuantType",
    "adjuster",
    "along",
    "array_of",
    "attribute",
    "captured_names",
    "check_model",
    "dequantize",
    "fake_quant",
    "filled",
    "follow_node",
    "follow_tensor",
    "fusion",
    "hookimpl",
    "is_divisor",
    "largest",
    "least",
    "nearest_position",
    "option",
    "position_of",
    "qtype",
    "quantize",
    "rename_captured",
    "scale_of",
    "set_aside",
    "set_values",
    "sqnr_db",
    "subgraphs",
    "transform",
]
