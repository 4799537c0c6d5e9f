"""quant_config_file: the original's JSON, read strictly, becomes arguments of ``quantize_static``.

What is more special wins: a layer's name, a layer's type, a tensor's kind, overall. The file beats ``bitwidth``, and
a file that names a device beats ``target``.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ort_vitis_plugin.api import CalibrationMethod, PowerOfTwoMethod, QuantType

from .errors import ConfigError
from .host_calls import Settings

# The NPU targets of the original by the names of ours.
TARGETS: Mapping[str, str] = {
    "AMD_AIE2_Nx4_Overlay_cfg0": "ipu_cnn",
    "AMD_AIE2_Nx4_Overlay": "ipu_cnn",
    "ipu_cnn": "ipu_cnn",
    "ipu_transformer": "ipu_transformer",
    "cpu": "cpu",
}

DEVICES = ("DPU", "CPU", "GPU", "FLEXML")
KINDS = ("input", "weights", "bias", "activation")

_BOOLEANS = (
    "convert_relu6_to_relu",
    "convert_silu_to_hswish",
    "include_cle",
    "include_bias_corr",
    "keep_first_last_layer_accuracy",
    "keep_add_layer_accuracy",
    "change_concat_input_fix",
    "change_pool_input_fix",
)

_PARAMETERS: Mapping[str, tuple[object, ...]] = {
    "datatype": ("int", "bfloat16", "float16", "float32"),
    "bit_width": tuple(range(33)),
    "method": ("maxmin", "percentile", "entropy", "mse", "diffs"),
    "round_mode": ("half_even", "half_up", "half_down", "std_round"),
    "symmetry": (True, False),
    "per_channel": (True, False),
    "signed": (True, False),
    "narrow_range": (True, False),
    "scale_type": ("poweroftwo", "float"),
    "calib_statistic_method": ("modal", "max", "mean", "median"),
    "percentage": (),
}

_FLOAT_METHODS = {
    "maxmin": CalibrationMethod.MinMax,
    "percentile": CalibrationMethod.Percentile,
    "entropy": CalibrationMethod.Entropy,
}

_ACTIVATIONS = {
    (8, True): QuantType.QInt8,
    (8, False): QuantType.QUInt8,
    (16, True): QuantType.QInt16,
    (16, False): QuantType.QUInt16,
}

LOWEST_BITS, BYTE = 2, 8


@dataclass(frozen=True)
class QuantConfig:
    """What the caller asked for: settings of the host, and the bits of weights where they are fewer than 8."""

    settings: Settings
    weight_bits: int = BYTE
    opset: int = 17
    layers: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)

    def with_settings(self, settings: Settings) -> QuantConfig:
        """A copy with other settings."""
        return replace(self, settings=settings)


def configured(bitwidth: int | None, target: str | None, file: str | Path | None) -> QuantConfig:
    """The settings for ``bitwidth`` (None: 8), ``target`` and a config file; each may be None.

    Raises ConfigError: the key, its value, and what is allowed.
    """
    if file is None:
        return _from_bits(8 if bitwidth is None else bitwidth, _target(target))
    if bitwidth is not None and bitwidth != BYTE:
        warnings.warn(f"bitwidth={bitwidth} gives way to quant_config_file", UserWarning, stacklevel=4)
    return _from_file(_read(Path(file)), _target(target))


def _target(target: str | None) -> str | None:
    if target is None:
        return None
    if target not in TARGETS:
        raise ConfigError(f"target={target!r} is not known; the known ones are {', '.join(TARGETS)}")
    return TARGETS[target]


def _from_bits(bits: int, target: str | None) -> QuantConfig:
    if not isinstance(bits, int) or isinstance(bits, bool) or not (LOWEST_BITS <= bits <= BYTE or bits == 16):
        raise ConfigError(f"bitwidth={bits!r}: give 2 to 8 (fewer than 8 hold for weights alone), or 16")
    arguments: dict[str, Any] = {}
    if bits == 16:
        arguments = {"activation_type": QuantType.QInt16, "weight_type": QuantType.QInt16}
    settings = Settings(arguments, {} if target is None else {"Target": target})
    return QuantConfig(settings, min(bits, BYTE), opset=21 if bits == 16 else 17)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"there is no quant_config_file {path}") from error
    except json.JSONDecodeError as error:
        raise ConfigError(f"quant_config_file {path} is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"quant_config_file {path} holds a {type(data).__name__}, not an object")
    return data


def _from_file(data: Mapping[str, Any], target: str | None) -> QuantConfig:
    known = {*_BOOLEANS, "target_device", "onnx_opset_version", "quantizable_data_type"}
    known |= {"overall_quantize_config", "tensor_quantize_config", "layer_quantize_config"}
    _check_keys("quant_config_file", data, known)
    for key in _BOOLEANS:
        _check("quant_config_file", key, data.get(key, False), (True, False))
    device = data.get("target_device")
    if device is not None:
        _check("quant_config_file", "target_device", device, DEVICES)
    if data.get("convert_silu_to_hswish"):
        raise ConfigError(
            "convert_silu_to_hswish=true changes what a model computes; use Hardswish in the model itself"
        )
    for key in ("keep_first_last_layer_accuracy", "keep_add_layer_accuracy"):
        if data.get(key):
            raise ConfigError(
                f"{key}=true never did anything in the original; name the layers in layer_quantize_config"
            )
    if device is not None and target is not None:
        warnings.warn(f"target gives way to quant_config_file's target_device={device}", UserWarning, stacklevel=5)
        target = None
    tensors = {kind: _of_kind(data, kind) for kind in KINDS}
    is_npu = device in ("DPU", "FLEXML") or (device is None and target == "ipu_cnn")
    for kind, parameters in tensors.items():
        for problem in _illegal(kind, parameters, is_npu=is_npu):
            raise ConfigError(f"{kind}: {problem}")
    layers = tuple(_layer(entry) for entry in data.get("layer_quantize_config", ()))
    settings = _settings(data, tensors, "ipu_cnn" if is_npu else target)
    bits = int(tensors["weights"].get("bit_width", BYTE))
    opset = int(data.get("onnx_opset_version", 21 if 16 in (bits, tensors["activation"].get("bit_width")) else 17))
    return QuantConfig(settings, min(bits, BYTE), opset, layers)


def _of_kind(data: Mapping[str, Any], kind: str) -> dict[str, Any]:
    overall = data.get("overall_quantize_config", {})
    single = data.get("tensor_quantize_config", {})
    _check_keys("tensor_quantize_config", single, set(KINDS))
    for where, entry in (
        ("overall_quantize_config", overall),
        (f"tensor_quantize_config.{kind}", single.get(kind, {})),
    ):
        _check_parameters(where, entry)
    return {**overall, **single.get(kind, {})}


def _check_parameters(where: str, entry: Any) -> None:
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where}={entry!r} must be an object of parameters")
    _check_keys(where, entry, set(_PARAMETERS))
    for key, value in entry.items():
        if key == "percentage":
            if not isinstance(value, (int, float)) or not 0 < value <= 100:
                raise ConfigError(f"{where}.percentage={value!r}: a number above 0, at most 100")
        else:
            _check(where, key, value, _PARAMETERS[key])


def _check_keys(where: str, entry: Mapping[str, Any], known: set[str]) -> None:
    for key in entry:
        if key not in known:
            raise ConfigError(f"{where} has the unknown key {key!r}; known are {', '.join(sorted(known))}")


def _check(where: str, key: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed or (isinstance(value, bool) is not isinstance(allowed[0], bool)):
        listed = f"{allowed[0]} to {allowed[-1]}" if len(allowed) > 8 else ", ".join(map(repr, allowed))
        raise ConfigError(f"{where}.{key}={value!r}: allowed are {listed}")


def _illegal(kind: str, p: Mapping[str, Any], *, is_npu: bool) -> Iterator[str]:
    """What cannot be combined, as the original's documentation has it, and what is not written here."""
    bits, scale = p.get("bit_width", BYTE), p.get("scale_type", "poweroftwo")
    method, per_channel = p.get("method", "diffs" if scale == "poweroftwo" else "maxmin"), p.get("per_channel", False)
    if p.get("datatype", "int") != "int":
        yield f"datatype={p['datatype']!r}: a file of integers is written; use int, or Vitis types of quantize_static"
    if kind == "weights" and not (LOWEST_BITS <= bits <= BYTE or bits == 16):
        yield f"bit_width={bits}: weights have 2 to 8 or 16 bits"
    if kind in ("input", "activation") and bits not in (BYTE, 16):
        yield f"bit_width={bits}: ONNX holds activations of 8 or 16 bits"
    if kind == "bias" and bits not in (BYTE, 16, 32):
        yield f"bit_width={bits}: biases have 8 bits on the NPU and 32 elsewhere"
    if scale == "poweroftwo" and not (p.get("symmetry", True) and p.get("signed", True)):
        yield "scale_type='poweroftwo' with symmetry=false or signed=false: powers of two are symmetric and signed"
    if scale == "poweroftwo" and method not in ("diffs", "maxmin"):
        yield f"method={method!r} with scale_type='poweroftwo': allowed are 'diffs' and 'maxmin'"
    if scale == "float" and method not in _FLOAT_METHODS:
        yield f"method={method!r} with scale_type='float': allowed are {', '.join(map(repr, _FLOAT_METHODS))}"
    if scale == "float" and p.get("calib_statistic_method") == "modal":
        yield "calib_statistic_method='modal' with scale_type='float': allowed are 'max', 'mean' and 'median'"
    if per_channel and kind != "weights":
        yield "per_channel=true: only weights have a scale for each channel"
    if p.get("narrow_range", False) and scale == "poweroftwo":
        yield "narrow_range=true with scale_type='poweroftwo': the NPU has all codes; set it to false"
    if kind in ("input", "activation") and p.get("round_mode", "half_even") not in ("half_even", "half_up"):
        yield f"round_mode={p['round_mode']!r}: activations round in the runtime, which has half_even"
    if is_npu and (scale == "float" or per_channel):
        what = "scale_type='float'" if scale == "float" else "per_channel=true"
        yield f"{what} with target_device DPU: the NPU can only shift, one shift for all channels"


def _settings(data: Mapping[str, Any], tensors: Mapping[str, Mapping[str, Any]], target: str | None) -> Settings:
    weights, activation = tensors["weights"], tensors["activation"]
    if weights.get("scale_type", "poweroftwo") != activation.get("scale_type", "poweroftwo"):
        raise ConfigError("scale_type differs between weights and activation; the file has one kind of scale")
    is_float = activation.get("scale_type", "poweroftwo") == "float"
    arguments: dict[str, Any] = {}
    method = activation.get("method")
    if is_float:
        arguments["calibrate_method"] = _FLOAT_METHODS[method or "maxmin"]
    elif method is not None:
        arguments["calibrate_method"] = PowerOfTwoMethod.MinMSE if method == "diffs" else PowerOfTwoMethod.NonOverflow
    for key, parameters in (("activation_type", activation), ("weight_type", weights)):
        bits = parameters.get("bit_width", BYTE)
        kind = _ACTIVATIONS[max(bits, BYTE), bool(parameters.get("signed", True))]
        if kind is not QuantType.QInt8:
            arguments[key] = kind
    if weights.get("per_channel", False):
        arguments["per_channel"] = True
    if data.get("include_cle", False):
        arguments["include_cle"] = True
    options: dict[str, Any] = {} if target is None else {"Target": target}
    if "symmetry" in activation:
        options["ActivationSymmetric"] = bool(activation["symmetry"])
    if "percentage" in activation:
        options["CalibPercentile"] = float(activation["percentage"])
    if data.get("convert_relu6_to_relu", False):
        options["ReplaceClip6Relu"] = True
    if data.get("include_bias_corr", False):
        options["BiasCorrection"] = True
    for key, option in (("change_concat_input_fix", "AlignConcat"), ("change_pool_input_fix", "AlignPool")):
        if key in data and target == "ipu_cnn":
            options[option] = bool(data[key])
    return Settings(arguments, options)


def _layer(entry: Any) -> Mapping[str, Any]:
    known = {"layer_type", "layer_name", "quantizable_data_type", "overall_quantize_config", "tensor_quantize_config"}
    if not isinstance(entry, Mapping):
        raise ConfigError(f"layer_quantize_config holds {entry!r}, not an object")
    _check_keys("layer_quantize_config", entry, known)
    if ("layer_type" in entry) == ("layer_name" in entry):
        raise ConfigError("an entry of layer_quantize_config names either layer_type or layer_name")
    for kind in KINDS:
        if _of_kind(entry, kind).get("bit_width", 0) not in (0, BYTE, 16):
            bits = _of_kind(entry, kind)["bit_width"]
            raise ConfigError(
                f"layer_quantize_config: bit_width={bits} of {kind}; layers of their own have 8 or 16 bits"
            )
    return dict(entry)
