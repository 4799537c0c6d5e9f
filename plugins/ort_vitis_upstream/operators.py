"""onnxruntime's handlers mark the tensors of an op type, for any target that has no handler of its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from onnxruntime.quantization.operators.direct_q8 import QDQDirect8BitOp
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

from ort_vitis_plugin.api import OpQuantizer, QDQOperatorBase

# What adds, compares or merely moves data as others do, and has no handler in onnxruntime.
MISSING: dict[str, type[QDQOperatorBase]] = {
    "Sum": QDQOperatorBase,
    "Min": QDQOperatorBase,
    "Max": QDQOperatorBase,
    "DepthToSpace": QDQDirect8BitOp,
    "SpaceToDepth": QDQDirect8BitOp,
}


def op_types() -> frozenset[str]:
    """All op types that have a handler."""
    return frozenset(QLinearOpsRegistry) | frozenset(QDQRegistry) | frozenset(MISSING)


def op_quantizers() -> Iterator[OpQuantizer]:
    """The handlers of onnxruntime's registry, and those that it lacks, as declarations."""
    for op_type, handler in {**MISSING, **QDQRegistry}.items():
        yield OpQuantizer(op_type, handler)
