"""Quantization of PyTorch modules: the module is exported once, and its graph is calibrated, run, trained and written.

Importing this package imports torch; the host does not, and reads no more of it than its name.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .compat import install
from .errors import (
    ConfigError,
    ExportError,
    MismatchError,
    OperatorError,
    RefusedError,
    StageError,
    TorchFrontEndError,
)
from .executor import OnnxModule
from .export import export
from .fake import TQT, FixedPow2, FloatScale
from .finetune import FinetuneOptions
from .inspector import Inspector
from .ops import operator, operators
from .qat import QatProcessor, TrainableModel
from .quantizer import TorchQuantizer, torch_quantizer
from .stubs import DeQuantStub, QuantStub

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
    "install",
    "operator",
    "operators",
    "torch_quantizer",
]
