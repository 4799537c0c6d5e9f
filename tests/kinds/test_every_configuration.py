"""Every graph in every configuration: valid, loads at every level, no warning, and near float.

By default each graph meets one configuration, another one each; the slow suite holds all pairs.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import UnsupportedError

from .checks import CONFIGURATIONS, assert_close, samples
from .graphs import GRAPHS

# Decibels that the types of a configuration allow on graphs of two or three layers with few values.
LEAST = {
    "npu": 12.0,
    "npu with cle": 12.0,
    "entropy": 10.0,
    "qoperator": 15.0,
    "fix neuron": 15.0,
    "pairs on weights": 15.0,
    "documented default": 15.0,
    "non-overflow": 15.0,
    "vitis int16": 50.0,
    "vitis bfloat16": 28.0,
}
OTHERS = 20.0
# The operators of these formats take no float16 tensors; the call says so before work.
NO_HALF = ("fix neuron", "vitis int16", "vitis bfloat16")

PAIRS = [(graph, configuration) for graph in GRAPHS for configuration in CONFIGURATIONS]
_COUNT = len(CONFIGURATIONS)
# Coprime steps: neighbours in the catalogue meet different configurations.
QUICK = [PAIRS[number * _COUNT + (number * 7) % _COUNT] for number in range(len(GRAPHS))]
SLOW = [pair for pair in PAIRS if pair not in QUICK]


def check(graph: str, configuration: str) -> None:
    model = GRAPHS[graph]()
    if graph.startswith("types: half precision") and configuration in NO_HALF:
        with pytest.raises(UnsupportedError, match="convert_fp16_to_fp32"):
            quantize_static(model, None, samples(model), **CONFIGURATIONS[configuration])
        return
    before = model.SerializeToString(deterministic=True)
    result = quantize_static(model, None, samples(model), **CONFIGURATIONS[configuration])
    assert model.SerializeToString(deterministic=True) == before, "the caller's model was changed"
    assert_close(model, result, LEAST.get(configuration, OTHERS))


@pytest.mark.parametrize(("graph", "configuration"), QUICK)
def test_a_graph_in_one_configuration(graph: str, configuration: str) -> None:
    check(graph, configuration)


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "configuration"), SLOW)
def test_a_graph_in_every_other_configuration(graph: str, configuration: str) -> None:
    check(graph, configuration)
