"""The test networks are trained, small, and what their scripts say."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.models import networks

OPERATORS = {
    "depthwise_skewed": {"Conv", "Relu", "MaxPool", "GlobalAveragePool", "Gemm"},
    "transformer": {"LayerNormalization", "Softmax", "Erf", "MatMul"},
    "halves": {"InstanceNormalization", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid"}
    | {"Split", "AveragePool", "ConvTranspose", "ReduceMean"},
    "depthwise_deep": {"Conv", "Clip", "MaxPool", "GlobalAveragePool", "Gemm"},
    "dead_channels": {"Conv", "Clip", "Add", "MaxPool", "GlobalAveragePool", "Gemm"},
}


@pytest.mark.parametrize("name", networks.NAMES + networks.HARD)
def test_trained_and_small(name: str) -> None:
    assert networks.accuracy(networks.session(networks.network(name)), name) >= 0.96
    assert networks.network(name).stat().st_size < (160_000 if name == "digits" else 150_000)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    model = onnx.load(networks.network(name))
    onnx.checker.check_model(model, full_check=True)
    assert {node.op_type for node in model.graph.node} >= OPERATORS[name]
    assert {(entry.domain, entry.version) for entry in model.opset_import} == {("", 17)}


def channel_ranges(weight: np.ndarray) -> np.ndarray:
    return np.abs(weight).reshape(len(weight), -1).max(1)


def test_skewed_channels_differ_by_100_times() -> None:
    model = onnx.load(networks.network("depthwise_skewed"))
    weights = {initializer.name: numpy_helper.to_array(initializer) for initializer in model.graph.initializer}
    kernels = [weights[node.input[1]] for node in model.graph.node if node.op_type == "Conv"]
    assert sum(kernel.shape[1] == 1 for kernel in kernels) >= 4
    for kernel in kernels[:-1]:
        ranges = channel_ranges(kernel)
        assert ranges.max() / ranges.min() >= 100


def test_deep_channels_differ_by_hundreds_of_times_and_clip_at_6() -> None:
    model = onnx.load(networks.network("depthwise_deep"))
    weights = {initializer.name: numpy_helper.to_array(initializer) for initializer in model.graph.initializer}
    kernels = [weights[node.input[1]] for node in model.graph.node if node.op_type == "Conv"]
    assert len(kernels) == sum(node.op_type == "Clip" for node in model.graph.node) == 11
    for kernel in kernels:
        ranges = channel_ranges(kernel)
        assert ranges.max() / ranges.min() >= 2.0**8


def test_reader_rewinds_and_matches_inputs() -> None:
    for name in networks.NAMES:
        reader = networks.reader(name, 2)
        first = reader.get_next()
        assert first is not None
        inputs = networks.session(networks.network(name)).get_inputs()
        assert {i.name: i.shape for i in inputs} == {key: list(value.shape) for key, value in first.items()}
        assert reader.get_next() is not None
        assert reader.get_next() is None
        reader.rewind()
        again = reader.get_next()
        assert again is not None
        assert all(np.array_equal(first[key], again[key]) for key in first)


def test_unknown_network_is_named() -> None:
    with pytest.raises(KeyError, match="resnet"):
        networks.network("resnet")
