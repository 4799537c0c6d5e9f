"""A step of the executor: a node, and what computes it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnx import NodeProto


@dataclass(frozen=True)
class Step:
    """``function`` takes the tensors of ``inputs`` (None where a name is empty) and gives that of ``outputs``, or a
    tuple of them. ``is_replaced``: it computes something else than the node says."""

    node: NodeProto
    function: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    is_replaced: bool = False
