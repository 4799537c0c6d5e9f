"""The element types that are floats, those of them that pairs quantize, and the codes of 8 and of 16 bits."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import TensorProto

QUANTIZED_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
FLOATS = QUANTIZED_FLOATS | {TensorProto.BFLOAT16, TensorProto.DOUBLE}
EIGHT_BITS = frozenset({TensorProto.INT8, TensorProto.UINT8})
SIXTEEN_BITS = frozenset({TensorProto.INT16, TensorProto.UINT16})
FLOAT_OR_UNKNOWN = FLOATS | {TensorProto.UNDEFINED}
