"""What the arguments of either signature ask for becomes one Request: those of vai_q_onnx, those of onnxruntime."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ..errors import OptionTypeError, suggest
from ..numerics.qtypes import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType
from ..options import options as option_parser
from ..options.host_options import CallOptions
from ..options.options import OptionWarning
from ..options.ort_options import ORT_KEYS
from ..options.request import Request, merged_options, names

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


def request_from_manual(arguments: Mapping[str, Any]) -> Request:
    """A call of our quantize_static, all parameters by name, as a Request.

    Raises:
        OptionTypeError: there is no such parameter, or a value is of a wrong type.
    """
    values = dict(arguments)
    for alias, value in values.pop("aliases", {}).items():
        if alias not in ALIASES:
            raise OptionTypeError(f"quantize_static() got an unexpected keyword argument {alias!r}")
        values[ALIASES[alias]] = values[ALIASES[alias]] or value
    for name in ("input_nodes", "output_nodes"):
        values[name] = list(names(values[name], name))
    values["calibration_cache_path"] = _path(values["calibration_cache_path"], "calibration_cache_path")
    as_options = {
        key: values[name]
        for name, key in _OPTION_KEYS.items()
        if not (option_parser.is_same(values[name], _DEFAULTS[name]) if name in _DEFAULTS else _is_empty(values[name]))
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
        default=_defaults(values, PowerOfTwoMethod.MinMSE),
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
        default=_defaults(arguments, CalibrationMethod.MinMax),
        takes_random_data=False,
    )


def _defaults(values: Mapping[str, Any], method_default: Any) -> frozenset[str]:
    """Arguments that the caller left alone, or gave the door's default, which looks the same."""
    defaults = {
        "quant_format": QuantFormat.QDQ,
        "calibrate_method": method_default,
        "activation_type": QuantType.QInt8,
        "weight_type": QuantType.QInt8,
        "per_channel": False,
        "reduce_range": False,
    }
    return frozenset(name for name, default in defaults.items() if values.get(name, default) is default)


def _is_empty(value: Any) -> bool:
    if value is None or value is False:
        return True
    try:
        return len(value) == 0
    except Exception:  # no container, or one of the caller's whose code raises; its type is checked later
        return False


def _path(value: Any, argument: str) -> str | None:
    if value is None or isinstance(value, (str, Path)):
        return None if value is None else str(value)
    raise OptionTypeError(f"{argument} takes the path of a file, not {value!r}")


def _flag(value: Any, argument: str) -> bool:
    if not isinstance(value, bool):
        raise OptionTypeError(f"{argument} takes True or False, not {value!r}")
    return value


NEAR = 0.8  # likeness from which a key is taken for a misspelling of one of ours
_HOST_OPTIONS = {declared.key: declared for declared in CallOptions.options()}
OUR_ENUMS = (PowerOfTwoMethod, VitisQuantFormat, VitisQuantType)


def uses_our_enums(value: object) -> bool:
    """Whether one of our enums is the value or lies anywhere in it."""
    if isinstance(value, OUR_ENUMS):
        return True
    if isinstance(value, Mapping):
        return any(uses_our_enums(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(uses_our_enums(item) for item in value)


def is_ours(arguments: Mapping[str, object]) -> bool:
    """Whether a call of onnxruntime's function asks for something of ours (decision 5a).

    It does when it uses one of our enums, or an option key that onnxruntime does not know and a plugin declares.
    Plugins are not asked, nor imported, for keys that onnxruntime knows.
    """
    kinds = ("quant_format", "calibrate_method", "activation_type", "weight_type")
    if any(isinstance(arguments.get(kind), OUR_ENUMS) for kind in kinds):
        return True
    extra_options = arguments.get("extra_options")
    if not isinstance(extra_options, Mapping) or not extra_options:
        return False
    if uses_our_enums(extra_options.get("TensorQuantOverrides")):
        return True
    keys = [key for key in extra_options if isinstance(key, str) and key not in ORT_KEYS]
    if any(option_parser.resolve(key, _HOST_OPTIONS) is not None for key in keys):
        return True
    if not keys:
        return False
    # Only keys that onnxruntime does not know take the code of plugins to tell.
    from ..plugin.catalog import shared_catalog

    declared = shared_catalog().options
    if any(option_parser.resolve(key, declared) is not None for key in keys):
        return True
    _warn_of_near_misses(keys, [key for key in declared if key not in ORT_KEYS])
    return False


def _warn_of_near_misses(keys: Iterable[str], declared: Iterable[str]) -> None:
    """onnxruntime ignores what it does not know: a misspelt key of ours would quantize plainly, without a word."""
    for key in keys:
        hint = suggest(key.replace("_", ""), declared, cutoff=NEAR)
        if hint:
            warnings.warn(
                f"onnxruntime does not know the option {key}, so it has no effect{hint}", OptionWarning, stacklevel=5
            )
