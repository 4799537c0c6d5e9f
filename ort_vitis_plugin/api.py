"""Everything that a plugin may import."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnxruntime.quantization.calibrate import CalibraterBase, CalibrationMethod, TensorData, TensorsData
from onnxruntime.quantization.operators.qdq_base_operator import QDQOperatorBase
from onnxruntime.quantization.quant_utils import QuantFormat, QuantType

from .data_readers import CHANNELS_LAST
from .emission.names import GENERATED_SUFFIXES
from .errors import CalibrationError, ModelError, OptionError, QuantizationError, UnknownNameError, UnsupportedError
from .graph import Graph, attribute, captured_names, rename_captured, subgraphs
from .graph.batch_norm import batch_norm_affine
from .graph.edit import FLOAT_OR_UNKNOWN, become, clip_bounds, constant, discard, integers, rewire, scalar, store
from .graph.nodes import DEFAULT_DOMAINS
from .graph.op_sets import MOVES, RESHAPES
from .graph.patterns import inverse_of, is_closed, made_by, operands, reduced_axes, square_of, with_constant
from .numerics.positions import nearest_position, position_of, scale_of
from .numerics.qtypes import PowerOfTwoMethod, QType, VitisQuantFormat, VitisQuantType, qtype
from .numerics.quantize import fake_quant
from .numerics.sqnr import sqnr_db
from .onnx_io.checker import check as check_model
from .onnx_io.external_weights import array_of, externalize, internalized, set_values
from .options.host_options import CallOptions
from .options.options import Option, OptionGroup, option
from .options.request import Request
from .plan import Bound, Expression, Plan, Position, Role, TensorPlan, largest, least
from .plan.error_curve import ErrorCurve
from .planning.marker import PlannedQDQQuantizer
from .plugin.declarations import (
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
from .plugin.hookspecs import hookimpl
from .report.report import Report
from .request.renames import follow_node, follow_tensor
from .request.settings import Run, refusal
from .selection.divisors import is_divisor
from .sketch import Sketch

__all__ = [
    "CHANNELS_LAST",
    "DEFAULT_DOMAINS",
    "FLOAT_OR_UNKNOWN",
    "GENERATED_SUFFIXES",
    "MOVES",
    "RESHAPES",
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
    "array_of",
    "attribute",
    "batch_norm_affine",
    "become",
    "captured_names",
    "check_model",
    "clip_bounds",
    "constant",
    "discard",
    "externalize",
    "fake_quant",
    "follow_node",
    "follow_tensor",
    "fusion",
    "hookimpl",
    "integers",
    "internalized",
    "inverse_of",
    "is_closed",
    "is_divisor",
    "largest",
    "least",
    "made_by",
    "nearest_position",
    "operands",
    "option",
    "position_of",
    "qtype",
    "reduced_axes",
    "refusal",
    "rename_captured",
    "rewire",
    "scalar",
    "scale_of",
    "set_values",
    "sqnr_db",
    "square_of",
    "store",
    "subgraphs",
    "transform",
    "with_constant",
]
