"""Quantization of PyTorch modules: the module is exported once, and its graph is calibrated, run, trained and written.

torch is imported when one of these names is first asked for, and not before.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ort_vitis_plugin.api import Declaration, hookimpl

from .algorithms import ADAQUANT, ADAROUND
from .compat import PYTORCH_NNDCT
from .errors import (
    ConfigError,
    ExportError,
    MismatchError,
    OperatorError,
    RefusedError,
    StageError,
    TorchFrontEndError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .executor import OnnxModule
    from .exported import export
    from .fake import TQT, FixedPow2, FloatScale
    from .finetune import FinetuneOptions
    from .inspector import Inspector
    from .ops import operator, operators
    from .qat import QatProcessor, TrainableModel
    from .quantizer import TorchQuantizer, torch_quantizer
    from .stubs import DeQuantStub, QuantStub

_HOMES = {
    "TQT": "fake",
    "DeQuantStub": "stubs",
    "FinetuneOptions": "finetune",
    "FixedPow2": "fake",
    "FloatScale": "fake",
    "Inspector": "inspector",
    "OnnxModule": "executor",
    "QatProcessor": "qat",
    "QuantStub": "stubs",
    "TorchQuantizer": "quantizer",
    "TrainableModel": "qat",
    "export": "exported",
    "operator": "ops",
    "operators": "ops",
    "torch_quantizer": "quantizer",
}

__all__ = [
    "TQT",
    "ConfigError",
    "DeQuantStub",
    "ExportError",
    "FinetuneOptions",
    "FixedPow2",
    "FloatScale",
    "Inspector",
    "MismatchError",
    "OnnxModule",
    "OperatorError",
    "QatProcessor",
    "QuantStub",
    "RefusedError",
    "StageError",
    "TorchFrontEndError",
    "TorchQuantizer",
    "TrainableModel",
    "export",
    "operator",
    "operators",
    "torch_quantizer",
]


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield PYTORCH_NNDCT
    yield ADAQUANT
    yield ADAROUND


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f".{_HOMES[name]}", __name__)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise ModuleNotFoundError(
                f"{__name__}.{name} needs torch: pip install ort-vitis-plugin[torch]", name="torch"
            ) from error
        raise
    value = globals()[name] = getattr(module, name)
    return value
