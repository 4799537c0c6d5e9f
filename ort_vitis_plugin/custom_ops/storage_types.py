"""Codes are stored as integers of 8, 16 or 32 bits, or as 16-bit floats."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

RANGES: dict[int, tuple[int, int]] = {
    TensorProto.UINT8: (0, 2**8 - 1),
    TensorProto.INT8: (-(2**7), 2**7 - 1),
    TensorProto.UINT16: (0, 2**16 - 1),
    TensorProto.INT16: (-(2**15), 2**15 - 1),
    TensorProto.UINT32: (0, 2**32 - 1),
    TensorProto.INT32: (-(2**31), 2**31 - 1),
}
UNSIGNED = frozenset({TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32})
LONG = frozenset({TensorProto.UINT32, TensorProto.INT32})  # what float32 cannot hold
HALF_LIMITS: dict[int, NDArray[np.float32]] = {
    TensorProto.FLOAT16: np.array(65504.0, np.float32),
    TensorProto.BFLOAT16: np.array(3.38953139e38, np.float32),
}
STORAGE_TYPES: frozenset[int] = frozenset({*RANGES, *HALF_LIMITS})
