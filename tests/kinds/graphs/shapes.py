"""What the graphs of all kinds are made of: usual ends, and the least float."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import ModelProto

Builder = Callable[[], ModelProto]
LOWEST = np.finfo(np.float32).min
IMAGE = "(float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y)"
MATRIX = "(float[2, 8] x) => (float[2, 8] y)"
TOKENS = "(float[1, 4, 8] x) => (float[1, 4, 8] y)"
