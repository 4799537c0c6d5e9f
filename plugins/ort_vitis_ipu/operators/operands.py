"""A constant operand is a weight; one that is computed is data."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import QDQOperatorBase


def mark_operand(operator: QDQOperatorBase, tensor: str) -> None:
    """Mark an operand as weight or activation."""
    if operator.quantizer.is_input_a_initializer(tensor):
        operator.quantizer.quantize_weight_tensor(tensor)
    else:
        operator.quantizer.quantize_activation_tensor(tensor)


def mark_data(operator: QDQOperatorBase) -> None:
    """Mark the first input and, unless the options leave it out, the first output."""
    operator.quantizer.quantize_activation_tensor(operator.node.input[0])
    if not operator.disable_qdq_for_node_output:
        operator.quantizer.quantize_activation_tensor(operator.node.output[0])
