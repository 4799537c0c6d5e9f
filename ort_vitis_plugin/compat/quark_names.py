"""A configuration of quark.onnx is arguments of quantize_static, and its quantizer one call of that."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..entry.later_keywords import LATER_KEYWORDS
from ..entry.quantize_static import quantize_static
from ..errors import CalibrationError, OptionTypeError, UnsupportedError, suggest
from ..plugin.catalog import shared_catalog

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from onnx import ModelProto

    from ..report.report import Result

# Arguments that are options here, and those that only say how much is told.
OPTIONS = {"include_fast_ft": "FastFinetune"}
SPEECH = frozenset({"ignore_warnings", "log_severity_level"})
KNOWN = frozenset(inspect.signature(quantize_static).parameters) - {"model_input", "model_output", "aliases"}


def in_our_words(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of ``quantize_static``; what is unknown here and asks for nothing is left out.

    Raises:
        UnsupportedError: an argument asks for something that is not here.
    """
    found, options = {}, {}
    for name, value in arguments.items():
        if name in KNOWN or name in LATER_KEYWORDS:
            found[name] = value
        elif value and name in OPTIONS:
            options[OPTIONS[name]] = value
        elif value and name not in SPEECH:
            hint = suggest(name, KNOWN) or "; leave it out"
            raise UnsupportedError(f"{name}={value!r} of quark.onnx means nothing here{hint}")
    if options:
        found["extra_options"] = {**options, **(found.get("extra_options") or {})}
    return found


class QuantizationConfig:
    """Arguments of ``quantize_static`` by keyword, Quark's own as far as they mean something here."""

    def __init__(self, **arguments: Any) -> None:
        self.keywords = in_our_words(arguments)


class Config:
    """What a ``ModelQuantizer`` is given.

    Raises:
        UnsupportedError: an algorithm, or another part of Quark's own configuration, is asked for.
    """

    def __init__(self, global_quant_config: QuantizationConfig, **others: Any) -> None:
        for name, value in others.items():
            if value:
                raise UnsupportedError(
                    f"Config({name}=...) of quark.onnx means nothing here; say it by arguments of QuantizationConfig: "
                    "nodes_to_exclude, or extra_options TensorQuantOverrides, MixedTypes, FastFinetune"
                )
        self.global_quant_config = global_quant_config


class ModelQuantizer:
    """Quantizes models by one configuration."""

    def __init__(self, config: Config | QuantizationConfig) -> None:
        inner = config.global_quant_config if isinstance(config, Config) else config
        if not isinstance(inner, QuantizationConfig):
            raise OptionTypeError(f"ModelQuantizer takes Config(global_quant_config=...), not {type(inner).__name__}")
        self.config = inner

    def quantize_model(
        self,
        model_input: str | Path | ModelProto,
        model_output: str | Path | None = None,
        calibration_data_reader: Any = None,
        calibration_data_path: str | None = None,
    ) -> ModelProto | None:
        """Write the quantized model; without ``model_output`` return it."""
        reader = samples(calibration_data_reader, calibration_data_path)
        result = quantize_static(model_input, model_output, reader, **self.config.keywords)
        return result.model if model_output is None else None


def get_default_config(name: str) -> QuantizationConfig:
    """The configuration of a preset.

    Raises:
        UnknownNameError: there is no such preset.
    """
    return QuantizationConfig(extra_options={"Preset": shared_catalog().preset(name).name})


def samples(reader: Any, path: str | None) -> Any:
    """Where samples come from: a reader or a path.

    Raises:
        CalibrationError: both are given.
    """
    if reader is not None and path is not None:
        raise CalibrationError("calibration_data_reader and calibration_data_path are both given; give one of them")
    return path if reader is None else reader


def _quantize_static(
    model_input: str | Path | ModelProto,
    model_output: str | Path | None = None,
    calibration_data_reader: Any = None,
    calibration_data_path: str | None = None,
    **arguments: Any,
) -> Result:
    """``quantize_static`` with the arguments that Quark's has."""
    reader = samples(calibration_data_reader, calibration_data_path)
    return quantize_static(model_input, model_output, reader, **in_our_words(arguments))


QUARK = {
    "Config": Config,
    "ModelQuantizer": ModelQuantizer,
    "QuantizationConfig": QuantizationConfig,
    "get_default_config": get_default_config,
    "quantize_static": _quantize_static,
}
