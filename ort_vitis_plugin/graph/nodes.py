"""What a node says by itself: its optional inputs, its attributes, and the value of a Constant."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, helper, numpy_helper

DEFAULT_DOMAINS = ("", "ai.onnx")
MICROSOFT = "com.microsoft"  # onnxruntime's own operators, and its twins of ONNX's
ORT_DOMAINS = (*DEFAULT_DOMAINS, MICROSOFT)


def has_input(node: NodeProto, index: int) -> bool:
    """Whether an optional input is there: it may be missing at the end of the list, or written as ''."""
    return len(node.input) > index and bool(node.input[index])


def attribute(node: NodeProto, name: str, default: Any = None) -> Any:
    """The value of an attribute, or ONNX's default for it given by the caller."""
    for candidate in node.attribute:
        if candidate.name == name:
            return helper.get_attribute_value(candidate)
    return default


def constant_value(node: NodeProto) -> NDArray[Any] | None:
    """The dense value of a Constant node in any of its spellings, None for sparse ones."""
    for entry in node.attribute:
        if entry.name == "value":
            return numpy_helper.to_array(entry.t)
        if entry.name in ("value_float", "value_floats"):
            return np.asarray(helper.get_attribute_value(entry), dtype=np.float32)
        if entry.name in ("value_int", "value_ints"):
            return np.asarray(helper.get_attribute_value(entry), dtype=np.int64)
    return None
