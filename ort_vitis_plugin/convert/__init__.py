"""Conversions between the forms of a quantized model; each is loaded when it is first asked for."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .graph_inputs import remove_initializers_from_inputs as remove_initializers_from_inputs
    from .op_domains import rename_ops as rename_ops
    from .qoperator import qdq_to_qoperator as qdq_to_qoperator
    from .to_float import quantized_to_float as quantized_to_float
    from .vitis_qdq import standard_to_vitis as standard_to_vitis
    from .vitis_qdq import vitis_to_standard as vitis_to_standard

_HOMES = {
    "qdq_to_qoperator": "qoperator",
    "quantized_to_float": "to_float",
    "remove_initializers_from_inputs": "graph_inputs",
    "rename_ops": "op_domains",
    "standard_to_vitis": "vitis_qdq",
    "vitis_to_standard": "vitis_qdq",
}

__all__ = [
    "qdq_to_qoperator",
    "quantized_to_float",
    "remove_initializers_from_inputs",
    "rename_ops",
    "standard_to_vitis",
    "vitis_to_standard",
]


__getattr__ = lazily(__name__, _HOMES)
