"""The steps that settle a graph, by key, and small models for them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto

from ort_vitis_plugin.api import Transform
from ort_vitis_plugin.testing import graph
from ort_vitis_prepare.normalize import DECLARATIONS

Array = np.ndarray[Any, Any]

STEPS: dict[str, Transform] = {step.key: step for step in DECLARATIONS if isinstance(step, Transform)}


def model(
    body: str, opset: int = 17, head: str = "(float[2, 3] x) => (float[2, 3] y)", **constants: Array
) -> ModelProto:
    return graph(f"t {head} {{ {body} }}", opset, constants)
