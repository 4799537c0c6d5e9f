"""Quantize and dequantize nodes are known in every spelling, and nothing else is taken for one."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import helper

from ort_vitis_plugin.custom_ops.domains import DEQUANTIZE, FIX_NEURON, OURS, QUANTIZE
from ort_vitis_plugin.custom_ops.qdq_nodes import is_dequantize, is_fix_neuron, is_quantize

NATIVE = [("", "QuantizeLinear"), ("ai.onnx", "QuantizeLinear"), ("com.microsoft", "QuantizeLinear")]


@pytest.mark.parametrize(("domain", "op_type"), [*NATIVE, *sorted(QUANTIZE)])
def test_quantize(domain: str, op_type: str) -> None:
    node = helper.make_node(op_type, ["x", "scale"], ["y"], domain=domain)
    assert (is_quantize(node), is_dequantize(node), is_fix_neuron(node)) == (True, False, False)


@pytest.mark.parametrize(("domain", "op_type"), [("", "DequantizeLinear"), *sorted(DEQUANTIZE)])
def test_dequantize(domain: str, op_type: str) -> None:
    node = helper.make_node(op_type, ["x", "scale"], ["y"], domain=domain)
    assert (is_quantize(node), is_dequantize(node), is_fix_neuron(node)) == (False, True, False)


@pytest.mark.parametrize(("domain", "op_type"), sorted(FIX_NEURON))
def test_fix_neuron(domain: str, op_type: str) -> None:
    node = helper.make_node(op_type, ["x", "scale"], ["y"], domain=domain)
    assert (is_quantize(node), is_dequantize(node), is_fix_neuron(node)) == (False, False, True)


@pytest.mark.parametrize(("domain", "op_type"), [("elsewhere", "QuantizeLinear"), ("", "FixNeuron"), ("", "Relu")])
def test_strangers(domain: str, op_type: str) -> None:
    node = helper.make_node(op_type, ["x", "scale"], ["y"], domain=domain)
    assert (is_quantize(node), is_dequantize(node), is_fix_neuron(node)) == (False, False, False)


@pytest.mark.parametrize(("domain", "op_type"), [*NATIVE, ("", "DequantizeLinear"), *sorted(OURS)])
@pytest.mark.parametrize(("inputs", "outputs"), [(["x"], ["y"]), ([], ["y"]), (["x", "scale"], [])])
def test_a_node_without_a_scale_or_a_result_is_no_pair(
    domain: str, op_type: str, inputs: list[str], outputs: list[str]
) -> None:
    node = helper.make_node(op_type, inputs, outputs, domain=domain)
    assert (is_quantize(node), is_dequantize(node), is_fix_neuron(node)) == (False, False, False)


def test_every_op_of_ours_is_exactly_one_of_the_three() -> None:
    assert OURS == QUANTIZE | DEQUANTIZE | FIX_NEURON
    assert len(OURS) == len(QUANTIZE) + len(DEQUANTIZE) + len(FIX_NEURON)
