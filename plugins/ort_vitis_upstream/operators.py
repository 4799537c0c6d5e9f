"""onnxruntime's handlers mark the tensors of an op type, for any target that has no handler of its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from onnxruntime.quantization.registry import QDQRegistry

from ort_vitis_plugin.api import OpQuantizer


def op_quantizers() -> Iterator[OpQuantizer]:
    """The handlers of onnxruntime's registry, as declarations."""
    for op_type, handler in QDQRegistry.items():
        yield OpQuantizer(op_type, handler)
