"""A step of the executor: a node, and what computes it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnx import NodeProto


@dataclass(frozen=True)
class Step:
    """``function`` takes the tensors of ``inputs`` (None where a name is empty) and gives that of ``outputs``, or a
    tuple of them."""

    node: NodeProto
    function: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
