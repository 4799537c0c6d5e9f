"""quantize_static with the signature of vai_q_onnx, and the way in for calls at onnxruntime's own door."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxruntime.quantization.calibrate import CalibrationMethod
from onnxruntime.quantization.quant_utils import QuantFormat, QuantType

from .catalog import Catalog, shared_catalog
from .errors import OptionTypeError
from .loading import check_output
from .report import Result
from .request import Request, merged_options, names
from .saving import save_model
from .types import PowerOfTwoMethod

if TYPE_CHECKING:
    from onnx import ModelProto
    from onnxruntime.quantization.calibrate import CalibraterBase

    from .calibration import Calibration, Executor

# Spellings of other releases of vai_q_onnx, taken by keyword.
ALIASES = {
    "use_dpu": "enable_dpu",
    "fp16_fp32_convert": "convert_fp16_to_fp32",
    "inclue_cle": "include_cle",
}

_OPTION_KEYS = {
    "input_nodes": "InputNodes",
    "output_nodes": "OutputNodes",
    "random_data_reader_input_shape": "RandomDataReaderInputShape",
    "optimize_model": "OptimizeModel",
    "execution_providers": "ExecutionProviders",
    "enable_dpu": "EnableDPU",
    "convert_fp16_to_fp32": "ConvertFP16ToFP32",
    "convert_nchw_to_nhwc": "ConvertNCHWToNHWC",
    "include_cle": "IncludeCLE",
    "calibration_cache_path": "CalibrationCachePath",
}

# Arguments whose default is not "nothing"; left at it, a target's preset or an option may say otherwise.
_DEFAULTS: dict[str, Any] = {"optimize_model": True, "execution_providers": ["CPUExecutionProvider"]}


def quantize_static(
    model_input: str | Path | ModelProto,
    model_output: str | Path | None,
    calibration_data_reader: Any = None,
    quant_format: Any = QuantFormat.QDQ,
    calibrate_method: Any = PowerOfTwoMethod.MinMSE,
    input_nodes: list[str] = [],  # noqa: B006 - the documented default; never changed
    output_nodes: list[str] = [],  # noqa: B006
    op_types_to_quantize: list[str] | None = [],  # noqa: B006
    random_data_reader_input_shape: Any = [],  # noqa: B006
    per_channel: bool = False,
    reduce_range: bool = False,
    activation_type: Any = QuantType.QInt8,
    weight_type: Any = QuantType.QInt8,
    nodes_to_quantize: list[str] | None = None,
    nodes_to_exclude: list[str] | None = None,
    optimize_model: bool = True,
    use_external_data_format: bool = False,
    execution_providers: list[Any] | None = ["CPUExecutionProvider"],  # noqa: B006
    enable_dpu: bool = False,
    convert_fp16_to_fp32: bool = False,
    convert_nchw_to_nhwc: bool = False,
    include_cle: bool = False,
    extra_options: dict[str, Any] | None = {},  # noqa: B006
    *,
    print_summary: bool = False,
    debug_mode: bool = False,
    calibration: Any = None,
    calibration_cache_path: str | Path | None = None,
    plugins: Any = None,
    **aliases: Any,
) -> Result:
    """Quantize a float ONNX model for an AMD NPU, or for any target that a plugin declares.

    Signature, order and defaults are those of the vai_q_onnx manual. ``model_input`` is a path or a ModelProto (never
    changed); ``model_output`` a path, or None to write no file. ``calibration_data_reader`` has ``get_next()`` giving
    {input name: array} and None at the end; None calibrates with one random sample. ``extra_options`` takes every key
    that ``ort-vitis options`` lists. ``calibration`` is what ``calibrate`` returned, in place of samples.
    ``calibration_cache_path`` is onnxruntime's: its JSON file of ranges, read if it exists, else written. ``plugins``
    is a plugin manager other than the shared one.

    Returns a Result: ``.model``, ``.report``, ``.path``. Raises errors of ``ort_vitis_plugin.errors`` before any work
    where the request cannot be answered; no file is left behind by a call that raises.
    """
    request = request_from_manual(locals())
    catalog = shared_catalog() if plugins is None else Catalog(plugins)
    result = answer(request, catalog)
    if print_summary:
        result.report.print()
    return result


def calibrate(
    model_input: str | Path | ModelProto,
    calibration_data_reader: Any,
    *,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 16,
    plugins: Any = None,
    **configuration: Any,
) -> Calibration:
    """Run the samples once; hand the result to ``quantize_static(..., calibration=...)`` as often as you like.

    ``configuration`` takes the keyword arguments of ``quantize_static``. What prepares the float model (target,
    include_cle, converters, preparation switches) must be the same in both calls; format, method and types are free.
    With an ``executor`` (concurrent.futures or a Dask client) the samples are split among its workers; the result is
    the same to the bit. ``checkpoint`` names a file from which a broken-off calibration goes on.
    """
    from .pipeline import calibrate_only

    return calibrate_only(
        _configured(model_input, calibration_data_reader, configuration),
        shared_catalog() if plugins is None else Catalog(plugins),
        executor=executor,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
    )


def prepared(model_input: str | Path | ModelProto, *, plugins: Any = None, **configuration: Any) -> ModelProto:
    """The float model as ``quantize_static`` with these keyword arguments prepares it; no sample is run."""
    from .pipeline import prepare_only

    catalog = shared_catalog() if plugins is None else Catalog(plugins)
    return prepare_only(_configured(model_input, None, configuration), catalog)


def answer(request: Request, catalog: Catalog) -> Result:
    """Quantize, then save whole or not at all."""
    from .pipeline import quantize

    path = check_output(request)
    model, run = quantize(request, catalog)
    if path is not None:
        save_model(model, path, external_data=request.external_data)
        run.report.quantized_bytes = path.stat().st_size
    return Result(model, run.report, path)


def _configured(model: str | Path | ModelProto, reader: Any, configuration: Mapping[str, Any]) -> Request:
    bound = inspect.signature(quantize_static).bind(model, None, reader, **configuration)
    bound.apply_defaults()
    return request_from_manual(bound.arguments)


def request_from_manual(arguments: Mapping[str, Any]) -> Request:
    """A call of our quantize_static, all parameters by name, as a Request."""
    values = dict(arguments)
    for alias, value in values.pop("aliases", {}).items():
        if alias not in ALIASES:
            raise TypeError(f"quantize_static() got an unexpected keyword argument {alias!r}")
        values[ALIASES[alias]] = values[ALIASES[alias]] or value
    for name in ("input_nodes", "output_nodes"):
        values[name] = list(names(values[name], name))
    values["calibration_cache_path"] = _path(values["calibration_cache_path"], "calibration_cache_path")
    as_options = {
        key: values[name]
        for name, key in _OPTION_KEYS.items()
        if (values[name] != _DEFAULTS[name] if name in _DEFAULTS else not _is_empty(values[name]))
    }
    return Request(
        model=values["model_input"],
        output=values["model_output"],
        reader=values["calibration_data_reader"],
        quant_format=values["quant_format"],
        calibrate_method=values["calibrate_method"],
        activation_type=values["activation_type"],
        weight_type=values["weight_type"],
        per_channel=_flag(values["per_channel"], "per_channel"),
        reduce_range=_flag(values["reduce_range"], "reduce_range"),
        op_types=names(values["op_types_to_quantize"], "op_types_to_quantize"),
        nodes_to_quantize=names(values["nodes_to_quantize"], "nodes_to_quantize"),
        nodes_to_exclude=names(values["nodes_to_exclude"], "nodes_to_exclude"),
        external_data=_flag(values["use_external_data_format"], "use_external_data_format"),
        calibration=values["calibration"],
        given=merged_options(values["extra_options"], as_options),
        default=_defaults(
            values["quant_format"],
            values["calibrate_method"],
            values["activation_type"],
            values["weight_type"],
            PowerOfTwoMethod.MinMSE,
        ),
    )


def request_from_ort(arguments: Mapping[str, Any]) -> Request:
    """A call of onnxruntime's quantize_static, all parameters by name, as a Request."""
    get = arguments.get
    given = merged_options(get("extra_options"), {})
    if get("calibration_providers") is not None:
        given.setdefault("ExecutionProviders", list(get("calibration_providers") or ()))
    if get("calibration_cache_path") is not None:
        given.setdefault("CalibrationCachePath", _path(get("calibration_cache_path"), "calibration_cache_path"))
    return Request(
        model=arguments["model_input"],
        output=arguments["model_output"],
        reader=get("calibration_data_reader"),
        quant_format=get("quant_format"),
        calibrate_method=get("calibrate_method"),
        activation_type=get("activation_type"),
        weight_type=get("weight_type"),
        per_channel=bool(get("per_channel")),
        reduce_range=bool(get("reduce_range")),
        op_types=names(get("op_types_to_quantize"), "op_types_to_quantize"),
        nodes_to_quantize=names(get("nodes_to_quantize"), "nodes_to_quantize"),
        nodes_to_exclude=names(get("nodes_to_exclude"), "nodes_to_exclude"),
        external_data=bool(get("use_external_data_format")),
        given=given,
        default=_defaults(
            get("quant_format"),
            get("calibrate_method"),
            get("activation_type"),
            get("weight_type"),
            CalibrationMethod.MinMax,
        ),
    )


def quantize_from_ort(arguments: Mapping[str, object]) -> None:
    """Answer a call of onnxruntime's quantize_static that asks for something of ours; returns None as it does."""
    answer(request_from_ort(arguments), shared_catalog())


def calibrator_from_ort(arguments: Mapping[str, Any]) -> CalibraterBase:
    """Answer a call of onnxruntime's create_calibrator that names a method of ours."""
    from .calibrator import SketchCalibrater

    return SketchCalibrater.from_arguments(arguments)


def _defaults(quant_format: Any, method: Any, activation: Any, weight: Any, method_default: Any) -> frozenset[str]:
    given = {
        "quant_format": (quant_format, QuantFormat.QDQ),
        "calibrate_method": (method, method_default),
        "activation_type": (activation, QuantType.QInt8),
        "weight_type": (weight, QuantType.QInt8),
    }
    return frozenset(name for name, (value, default) in given.items() if value is default)


def _is_empty(value: Any) -> bool:
    return value is None or value is False or (hasattr(value, "__len__") and len(value) == 0)


def _path(value: Any, argument: str) -> str | None:
    if value is None or isinstance(value, (str, Path)):
        return None if value is None else str(value)
    raise OptionTypeError(f"{argument} takes the path of a file, not {value!r}")


def _flag(value: Any, argument: str) -> bool:
    if not isinstance(value, bool):
        raise OptionTypeError(f"{argument} takes True or False, not {value!r}")
    return value
