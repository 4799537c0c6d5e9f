"""Everything that a plugin may import."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from onnxruntime.quantization import QuantFormat, QuantType
from onnxruntime.quantization.calibrate import CalibraterBase, CalibrationMethod, TensorData, TensorsData
from onnxruntime.quantization.operators.qdq_base_operator import QDQOperatorBase

from .custom_ops.function_builder import Body as FunctionBody
from .custom_ops.put_functions import put_functions
from .custom_ops.stored_codes import StoredCodes, stored_codes
from .data_readers import CHANNELS_LAST, Feed
from .data_readers.spread import picked, spread
from .emission.clip_metadata import KEY as CLAMPS
from .emission.names import GENERATED_SUFFIXES
from .emission.pair_writer import Multiples, Pair, PairWriter
from .errors import CalibrationError, ModelError, OptionError, QuantizationError, UnknownNameError, UnsupportedError
from .graph import Graph, Skip, attribute, captured_names, has_input, rename_captured, subgraphs
from .graph.batch_norm import batch_norm_affine
from .graph.default_opset import default_opset
from .graph.edit import become, clip_bounds, constant, discard, integers, rewire, scalar, store, with_outputs
from .graph.element_types import FLOAT_OR_UNKNOWN, FLOATS, QUANTIZED_FLOATS
from .graph.growth import outgrows
from .graph.nodes import DEFAULT_DOMAINS
from .graph.op_sets import (
    CLAMP_OPS,
    CONVOLUTIONS,
    MATRIX_PRODUCTS,
    MOVES,
    PERIODIC,
    PRODUCTS,
    RESHAPES,
    SIZE_OPS,
    SOFTMAXES,
    WITH_BIAS,
)
from .graph.opsets import AXIS_OPSET, WIDE_OPSET
from .graph.patterns import inverse_of, is_closed, made_by, operands, reduced_axes, square_of, with_constant
from .lazy import lazily
from .measure.class_outputs import End, before_softmax, class_axes
from .measure.network_error import NetworkError, network_error
from .numerics.positions import nearest_position, position_of, scale_of
from .numerics.qtypes import PowerOfTwoMethod, QType, Scaling, VitisQuantFormat, VitisQuantType
from .numerics.quantize import along, dequantize, fake_quant, quantize, round_to_float
from .numerics.sqnr import sqnr_db
from .onnx_io.checker import check_model
from .onnx_io.external_weights import array_of, externalize, internalized, set_values
from .onnx_io.node_session import node_session
from .onnx_io.save import save_model
from .onnx_io.sessions import AS_WRITTEN, open_session
from .onnx_io.whole_file import whole_file, write_text
from .options.host_options import CallOptions
from .options.options import Option, OptionGroup, option
from .options.ort_options import OrtOptions
from .options.request import Request
from .plan import Bound, Expression, Plan, Position, Role, TensorPlan, largest, least
from .plan.error_curve import ErrorCurve
from .plan.fake_quantize import fake_quantize
from .planning.changed_constants import change_constant
from .planning.marker import Marker
from .plugin.catalog import qtype
from .plugin.context import Configuration, Context
from .plugin.declarations import (
    Adjuster,
    Correction,
    CustomOpLibrary,
    Declaration,
    Format,
    Fusion,
    LeaveFloat,
    ModelTransform,
    Namespace,
    OpFunctions,
    OpQuantizer,
    Preset,
    QuantizedType,
    ScaleFormat,
    Stage,
    StaysFloat,
    Target,
    Transform,
)
from .plugin.decorators import adjuster, fusion, leave_float, transform
from .plugin.hookspecs import hookimpl
from .plugin.methods import CalibraterMethod, PositionMethod, RangeMethod, TensorFacts
from .plugin.methods import of_two_signatures as of_two_signatures
from .plugin.rounding import LayerProblem, WeightRounding
from .report.progress import Progress
from .report.report import Report
from .request.settings import Settings
from .selection.divisors import ends_in_infinity
from .sketch import Sketch

if TYPE_CHECKING:
    from .analysis.placement_forecast import forecast
    from .entry.quantize_static import prepared, settings_for
    from .pipeline.callable_stages import PlannedModel, emit, observe, plan, prepare, solve
    from .pipeline.first_samples import first_samples
    from .pipeline.held_out import Judged, judged_plan
    from .pipeline.written_plan import ruled, written

__all__ = [
    "AS_WRITTEN",
    "AXIS_OPSET",
    "CHANNELS_LAST",
    "CLAMPS",
    "CLAMP_OPS",
    "CONVOLUTIONS",
    "DEFAULT_DOMAINS",
    "FLOATS",
    "FLOAT_OR_UNKNOWN",
    "GENERATED_SUFFIXES",
    "MATRIX_PRODUCTS",
    "MOVES",
    "PERIODIC",
    "PRODUCTS",
    "QUANTIZED_FLOATS",
    "RESHAPES",
    "SIZE_OPS",
    "SOFTMAXES",
    "WIDE_OPSET",
    "WITH_BIAS",
    "Adjuster",
    "Bound",
    "CalibraterBase",
    "CalibraterMethod",
    "CalibrationError",
    "CalibrationMethod",
    "CallOptions",
    "Configuration",
    "Context",
    "Correction",
    "CustomOpLibrary",
    "Declaration",
    "End",
    "ErrorCurve",
    "Expression",
    "Feed",
    "Format",
    "FunctionBody",
    "Fusion",
    "Graph",
    "Judged",
    "LayerProblem",
    "LeaveFloat",
    "Marker",
    "ModelError",
    "ModelTransform",
    "Multiples",
    "Namespace",
    "NetworkError",
    "OpFunctions",
    "OpQuantizer",
    "Option",
    "OptionError",
    "OptionGroup",
    "OrtOptions",
    "Pair",
    "PairWriter",
    "Plan",
    "PlannedModel",
    "Position",
    "PositionMethod",
    "PowerOfTwoMethod",
    "Preset",
    "Progress",
    "QDQOperatorBase",
    "QType",
    "QuantFormat",
    "QuantType",
    "QuantizationError",
    "QuantizedType",
    "RangeMethod",
    "Report",
    "Request",
    "Role",
    "ScaleFormat",
    "Scaling",
    "Settings",
    "Sketch",
    "Skip",
    "Stage",
    "StaysFloat",
    "StoredCodes",
    "Target",
    "TensorData",
    "TensorFacts",
    "TensorPlan",
    "TensorsData",
    "Transform",
    "UnknownNameError",
    "UnsupportedError",
    "VitisQuantFormat",
    "VitisQuantType",
    "WeightRounding",
    "adjuster",
    "along",
    "array_of",
    "attribute",
    "batch_norm_affine",
    "become",
    "before_softmax",
    "captured_names",
    "change_constant",
    "check_model",
    "class_axes",
    "clip_bounds",
    "constant",
    "default_opset",
    "dequantize",
    "discard",
    "emit",
    "ends_in_infinity",
    "externalize",
    "fake_quant",
    "fake_quantize",
    "first_samples",
    "forecast",
    "fusion",
    "has_input",
    "hookimpl",
    "integers",
    "internalized",
    "inverse_of",
    "is_closed",
    "judged_plan",
    "largest",
    "least",
    "leave_float",
    "made_by",
    "nearest_position",
    "network_error",
    "node_session",
    "observe",
    "open_session",
    "operands",
    "option",
    "outgrows",
    "picked",
    "plan",
    "position_of",
    "prepare",
    "prepared",
    "put_functions",
    "qtype",
    "quantize",
    "reduced_axes",
    "rename_captured",
    "rewire",
    "round_to_float",
    "ruled",
    "save_model",
    "scalar",
    "scale_of",
    "set_values",
    "settings_for",
    "solve",
    "spread",
    "sqnr_db",
    "square_of",
    "store",
    "stored_codes",
    "subgraphs",
    "transform",
    "whole_file",
    "with_constant",
    "with_outputs",
    "write_text",
    "written",
]

# They pull in the whole pipeline, which a plugin that only declares does not need.
_LATER = {
    "Judged": "pipeline.held_out",
    "PlannedModel": "pipeline.callable_stages",
    "emit": "pipeline.callable_stages",
    "first_samples": "pipeline.first_samples",
    "forecast": "analysis.placement_forecast",
    "judged_plan": "pipeline.held_out",
    "observe": "pipeline.callable_stages",
    "plan": "pipeline.callable_stages",
    "prepare": "pipeline.callable_stages",
    "prepared": "entry.quantize_static",
    "settings_for": "entry.quantize_static",
    "solve": "pipeline.callable_stages",
    "ruled": "pipeline.written_plan",
    "written": "pipeline.written_plan",
}
_later = lazily(__package__, _LATER)
# Names of the release before, with what to write; they go with the next one.
_OLD = {
    "Calibrator": ("of_two_signatures", "RangeMethod or PositionMethod, whose choose takes (seen or curve, tensor)"),
    "Run": ("Context", "Context (in steps) or Configuration (in Target.check and collectors)"),
}


def __getattr__(name: str) -> Any:
    if name in _OLD:
        new, advice = _OLD[name]
        warnings.warn(f"ort_vitis_plugin.api.{name} is an old name; write {advice}", DeprecationWarning, stacklevel=2)
        return globals()[new]
    return _later(name)
