"""Pairs that the DPU computes as one operation: the tensor in between is never quantized."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .conv_leaky_relu import conv_leaky_relu
from .conv_prelu import conv_prelu
from .conv_relu import conv_relu
from .pad_pool import pad_pool

FUSIONS = [conv_relu, conv_leaky_relu, conv_prelu, pad_pool]
