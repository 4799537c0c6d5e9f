"""Each operator that onnxruntime quantizes gets the operators, parameters and accuracy that its own code gives."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnxruntime.quantization import QuantFormat, QuantType, registry

from tests.kinds.checks import Arguments, samples

from .both import compared, decibels, ours, theirs
from .operators import OPERATORS, source

U8U8: Arguments = {
    "activation_type": QuantType.QUInt8,
    "weight_type": QuantType.QUInt8,
    "extra_options": {"WeightSymmetric": False},
}
U8S8: Arguments = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
S8S8: Arguments = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8}
QOPERATOR: Arguments = {"quant_format": QuantFormat.QOperator}

CONFIGURATIONS: dict[str, Arguments] = {
    "u8u8": U8U8,
    "u8s8": U8S8,
    "u8s8 by channel": {**U8S8, "per_channel": True},
    "s8s8": S8S8,
    "s8s8 symmetric by channel": {**S8S8, "per_channel": True, "extra_options": {"ActivationSymmetric": True}},
    "u16u8": {**U8U8, "activation_type": QuantType.QUInt16},
    "s16s16": {"activation_type": QuantType.QInt16, "weight_type": QuantType.QInt16},
    "u8u8 QOperator": {**U8U8, **QOPERATOR},
    "s8s8 QOperator": {**S8S8, **QOPERATOR},
    "s8s8 symmetric QOperator": {**S8S8, **QOPERATOR, "extra_options": {"ActivationSymmetric": True}},
    "u8s8 QOperator by channel": {**U8S8, **QOPERATOR, "per_channel": True, "reduce_range": True},
}

# Where theirs and ours differ, and why ours is the one to have: {operator: (configurations, reason)}.
EVERYWHERE = tuple(CONFIGURATIONS)
ON_CODES = tuple(name for name in CONFIGURATIONS if "QOperator" in name)
SIGNED_ON_CODES = tuple(name for name in ON_CODES if "s8s8" in name)
BY_CHANNEL = tuple(name for name in CONFIGURATIONS if "by channel" in name)
REASONS: dict[str, tuple[tuple[str, ...], str]] = {
    "Gemm of factors": (EVERYWHERE, "theirs counts the bias without alpha and beta: 11 dB"),
    "Squeeze and Unsqueeze": (EVERYWHERE, "the two undo each other, and are not there"),
    "EmbedLayerNormalization": (ON_CODES, "theirs writes no model"),
    "Where": (ON_CODES, "theirs writes no model"),
    "Sub": (ON_CODES, "theirs reads the input of the model beside its codes; 0.2 dB"),
    "Softmax": (SIGNED_ON_CODES, "the code of 1.0 would wrap around at theirs: 1.0 becomes -0.5"),
    "MatMul of a stack": (BY_CHANNEL, "scales of the last axis; theirs of the one before, which no kernel takes"),
    "Gather of a table": (SIGNED_ON_CODES, "a table is a weight; theirs an activation, less near by 2 dB"),
    "Add of a constant": (SIGNED_ON_CODES, "a constant is a weight; theirs an activation"),
}
FAITHFUL = 30.0  # decibels that 8 bits give each of these graphs


def cases() -> list[object]:
    """Operators in all configurations; some pairs run by default, the others in the slow suite."""
    pairs = [(name, configuration) for name in OPERATORS for configuration in CONFIGURATIONS]
    return [
        pytest.param(*pair, id=" - ".join(pair), marks=() if at % 23 == 0 else pytest.mark.slow)
        for at, pair in enumerate(pairs)
    ]


def test_there_is_a_graph_for_every_type() -> None:
    found = {node.op_type for name in OPERATORS for node in source(name).graph.node}
    assert {*registry.QDQRegistry, *registry.QLinearOpsRegistry} <= found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "configuration"), cases())
def test_one_operator(name: str, configuration: str) -> None:
    proto, arguments = source(name), CONFIGURATIONS[configuration]
    right = ours(proto, **arguments)
    if configuration in REASONS.get(name, ((), ""))[0]:
        assert decibels(proto, right, samples(proto)) > FAITHFUL
        return
    found = compared(proto, theirs(proto, **arguments), right)
    assert (found.op_types, found.parameters) == ("", [])
    assert found.is_as_near, found.decibels
