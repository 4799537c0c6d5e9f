"""The quantize() and calibrate() of ONNX Runtime's tools of 2019 and 2020, on today's ONNX Runtime.

Both work in memory and leave the caller's model alone. Where the old tool was wrong, this one is right: a bias under a
dynamic input, a bias shared by two nodes, and unfused dynamic quantization of an input whose range excludes 0.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .calibrate import calibrate
from .quantize import QuantizationMode, quantize

__all__ = ["QuantizationMode", "calibrate", "quantize"]
