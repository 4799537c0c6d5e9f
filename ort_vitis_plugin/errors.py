"""Every failure of a quantization call has a type that names the culprit, the value and the way out."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def suggest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """'; did you mean A or B?' for the names closest to ``name`` (difflib's ratio), else the empty string."""
    from difflib import get_close_matches  # compiles patterns, and an import of this package misspells nothing

    lowered = {candidate.lower(): candidate for candidate in known}
    close = [lowered[key] for key in get_close_matches(name.lower(), lowered, n=3, cutoff=cutoff)]
    return f"; did you mean {' or '.join(close)}?" if close else ""


class QuantizationError(Exception):
    """Base of all errors that this package raises on purpose."""


class ModelError(QuantizationError, ValueError):
    """The model cannot be read, is not valid ONNX, or holds values that cannot be quantized."""


class ModelNotFoundError(ModelError, FileNotFoundError):
    """The model file, its external data or the output folder does not exist."""


class OutputError(QuantizationError, OSError):
    """The output cannot be written."""


class OptionError(QuantizationError, ValueError):
    """An option has a wrong value or contradicts another one."""


class OptionTypeError(OptionError, TypeError):
    """An option has a value of a wrong type."""


class UnknownOptionError(OptionError):
    """No plugin declares such an option, but a similar one exists."""


class UnknownNameError(QuantizationError, ValueError):
    """A node, tensor, op type, target, format or method of that name does not exist."""


class ConfigurationError(OptionError):
    """A configuration file cannot be read, or a line of it is wrong."""


class UnsupportedError(QuantizationError, ValueError):
    """The combination asked for is impossible; the message says what works instead."""


class CalibrationError(QuantizationError, ValueError):
    """The calibration data cannot be used."""


class MetricError(CalibrationError):
    """A metric of the caller raised, or gave what is no number."""


class SelfCheckError(QuantizationError, ValueError):
    """The quantized model was rejected by the checker, by ONNX Runtime, or strays from the float model."""


class LibraryNotFoundError(QuantizationError, FileNotFoundError):
    """The custom-op library was not built here."""


class PluginError(QuantizationError, RuntimeError):
    """A plugin declares something that cannot be honoured, or its code failed."""


class MissingPluginError(PluginError, UnknownNameError):
    """What was asked for is declared by a plugin that is left out."""


class PluginWarning(UserWarning):
    """A plugin is left out, or declares something that nothing will ever use."""


class OutOfMemoryError(QuantizationError, MemoryError):
    """There is not enough memory for the call."""


class LimitError(QuantizationError, ValueError):
    """The call goes beyond a limit of size or time, which the message names; it can be raised."""


class UnexpectedError(QuantizationError, RuntimeError):
    """Something failed that this package did not foresee; the cause is chained."""


class AccuracyWarning(UserWarning):
    """The quantized model is bad: an output is mostly noise, ranks classes otherwise, or always says the same."""


class RandomDataWarning(UserWarning):
    """Random data stand for samples that were not given: what comes of them is fit for trying out only."""


class AttachError(QuantizationError, RuntimeError):
    """This onnxruntime does not fit the way that the plugin attaches to it."""
