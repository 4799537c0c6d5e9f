"""Which tensors of an operation are quantized, where the NPU differs from onnxruntime's own choice."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .hard_sigmoid import HARD_SIGMOID
from .layer_normalization import LAYER_NORMALIZATION
from .prelu import PRELU

OPERATORS = [HARD_SIGMOID, LAYER_NORMALIZATION, PRELU]
