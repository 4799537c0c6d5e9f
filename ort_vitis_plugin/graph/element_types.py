"""The element types that are floats, those of them that pairs quantize, and what may be either unknown or a float."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import TensorProto

QUANTIZED_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
FLOATS = QUANTIZED_FLOATS | {TensorProto.BFLOAT16, TensorProto.DOUBLE}
FLOAT_OR_UNKNOWN = FLOATS | {TensorProto.UNDEFINED}
