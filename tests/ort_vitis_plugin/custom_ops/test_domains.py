"""Every quantizing operator has a dequantizing one of the same domain, and numpy knows what each means."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import FunctionProto, ModelProto, helper

from ort_vitis_plugin.custom_ops.domains import BLOCK_PAIRS, DEQUANTIZE, FIX_NEURON, OURS, QUANTIZE, imports_ours
from ort_vitis_plugin.custom_ops.schemas import reference_ops


def test_operators_come_in_pairs() -> None:
    assert {(domain, op_type.replace("Quantize", "Dequantize")) for domain, op_type in QUANTIZE} == DEQUANTIZE
    assert not QUANTIZE & DEQUANTIZE
    assert not OURS & BLOCK_PAIRS


def test_each_has_a_reference() -> None:
    known = {(each.op_domain, each.__name__) for each in reference_ops()}
    assert known == OURS
    assert {op_type for _, op_type in FIX_NEURON} == {"FixNeuron"}


def test_a_model_says_whether_it_may_hold_them() -> None:
    plain = ModelProto(opset_import=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    assert not imports_ours(plain)
    for domain, _ in OURS | BLOCK_PAIRS:
        ours = helper.make_opsetid(domain, 1)
        assert imports_ours(ModelProto(opset_import=[*plain.opset_import, ours]))
        assert imports_ours(ModelProto(functions=[FunctionProto(opset_import=[ours])]))
