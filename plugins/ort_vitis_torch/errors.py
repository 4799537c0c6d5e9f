"""Every refusal of the PyTorch front end is one line that names the culprit and the way out."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import ModelError, OptionError, QuantizationError, UnsupportedError


class TorchFrontEndError(QuantizationError):
    """Base of what this package raises on purpose."""


class ExportError(TorchFrontEndError, ModelError):
    """The module cannot be turned into an ONNX graph."""


class OperatorError(TorchFrontEndError, UnsupportedError):
    """The graph has an operator, or a form of one, that the torch executor does not compute."""


class ConfigError(TorchFrontEndError, OptionError):
    """A key or a value of quant_config_file is not accepted."""


class StageError(TorchFrontEndError, RuntimeError):
    """Something is asked for before what it needs was done."""


class MismatchError(TorchFrontEndError, ValueError):
    """Saved results belong to another graph."""


class RefusedError(TorchFrontEndError, UnsupportedError):
    """An interface of the original that has no meaning here; the message says what to write instead."""


def first_line(error: BaseException) -> str:
    """The first line of what another's error says, or its kind where it says nothing."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
