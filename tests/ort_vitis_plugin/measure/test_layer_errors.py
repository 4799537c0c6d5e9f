"""Every quantized tensor against the float model's: names, order, and what each pair adds alone."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ort_vitis_plugin import (
    PowerOfTwoMethod,
    QuantFormat,
    QuantType,
    VitisQuantFormat,
    VitisQuantType,
    quantize_static,
)
from ort_vitis_plugin.data_readers import Feed
from ort_vitis_plugin.entry.quantize_static import prepared
from ort_vitis_plugin.errors import CalibrationError, ModelError
from ort_vitis_plugin.measure.evaluate import compare
from ort_vitis_plugin.measure.layer_errors import LayerError, _Sums, layer_errors
from ort_vitis_plugin.onnx_io.load import load_model
from ort_vitis_plugin.testing import graph
from tests.models import networks
from tests.zoo.configurations import NPU_CNN

# The method alone: what a recipe finds by trials is no matter of how errors are told.
PLAIN = {"Recipe": "plain", "SelfCheck": False}


@cache
def quantized() -> ModelProto:
    settings = {**NPU_CNN, "extra_options": {**NPU_CNN["extra_options"], **PLAIN}}
    return quantize_static(networks.network("digits"), None, networks.reader("digits", 20), **settings).model


def errors(model: ModelProto, count: int = 8) -> list[LayerError]:
    return layer_errors(networks.network("digits"), model, networks.digits("digits", count, 0).calibration)


def test_worst_first_and_inputs_lose_nothing_before_them() -> None:
    found = errors(quantized())
    assert [error.through for error in found] == sorted(error.through for error in found)
    known = {error.tensor: error for error in found}
    (name,) = (value.name for value in quantized().graph.input)
    assert known[name].through == pytest.approx(known[name].alone)
    assert known[name].producer == ""
    assert len(known) > 12
    assert all(error.alone > 15 for error in found)


class OnceReader:
    """onnxruntime's interface and no more."""

    def __init__(self) -> None:
        self._rest = iter(networks.digits("digits", 8, 0).calibration)

    def get_next(self) -> Feed | None:
        return next(self._rest, None)


READERS: dict[str, Callable[[], Any]] = {
    "get_next": OnceReader,
    "get_next and rewind": lambda: networks.reader("digits", 8),
    "makes readers": lambda: OnceReader,
    "generator": lambda: (feed for feed in networks.digits("digits", 8, 0).calibration),
    "tuple": lambda: tuple(networks.digits("digits", 8, 0).calibration),
}


@pytest.mark.parametrize("made", READERS.values(), ids=READERS)
def test_takes_every_reader_that_calibrates(made: Callable[[], Any]) -> None:
    assert layer_errors(networks.network("digits"), quantized(), made()) == errors(quantized())


def test_a_reader_that_has_calibrated_is_read_again() -> None:
    reader = networks.reader("digits", 8)
    while reader.get_next() is not None:
        pass
    assert layer_errors(networks.network("digits"), quantized(), reader) == errors(quantized())


def test_without_samples_a_random_one_is_taken() -> None:
    assert len(layer_errors(networks.network("digits"), quantized())) > 12


def test_a_spoilt_scale_is_the_tensor_that_errs_alone() -> None:
    spoilt = ModelProto()
    spoilt.CopyFrom(quantized())
    pairs = [node for node in spoilt.graph.node if node.op_type == "QuantizeLinear"]
    victim = pairs[len(pairs) // 2]
    for initializer in spoilt.graph.initializer:
        if initializer.name == victim.input[1]:
            scale = numpy_helper.to_array(initializer) * np.float32(64)
            initializer.CopyFrom(numpy_helper.from_array(np.asarray(scale), initializer.name))
    worst = min(errors(spoilt), key=lambda error: error.alone)
    assert victim.name == f"{worst.tensor}_QuantizeLinear"
    assert worst.alone < 15


@pytest.mark.parametrize("quant_format", [VitisQuantFormat.QDQ, VitisQuantFormat.FixNeuron])
def test_formats_of_our_own(quant_format: VitisQuantFormat) -> None:
    model = quantize_static(
        *(networks.network("digits"), None, networks.reader("digits", 20), quant_format, PowerOfTwoMethod.MinMSE),
        extra_options=PLAIN,
    ).model
    assert {error.tensor for error in errors(model)} & {value.name for value in model.graph.input}
    assert all(error.alone > 15 for error in errors(model))


def test_bfloat16_is_quantized_as_bfloat16() -> None:
    model = quantize_static(
        networks.network("digits"),
        None,
        networks.reader("digits", 4),
        VitisQuantFormat.QDQ,
        activation_type=VitisQuantType.QBFloat16,
        weight_type=VitisQuantType.QBFloat16,
    ).model
    found = errors(model)
    assert len(found) > 12
    assert all(error.alone > 45 for error in found)


def test_models_without_a_tensor_in_common_are_refused() -> None:
    with pytest.raises(ModelError, match="no quantized tensor in common"):
        layer_errors(networks.network("digits"), networks.network("digits"), [])


def test_no_sample_is_refused() -> None:
    with pytest.raises(CalibrationError, match="no sample"):
        errors(quantized(), 0)


def test_a_weight_is_measured_at_the_output_of_its_operator() -> None:
    """Channels whose input is 0 carry large weights: rounded coarsely they cost nothing, as input of others much."""
    draw = np.random.default_rng(0)
    w = draw.normal(size=(4, 4, 1, 1)).astype(np.float32)
    w[:, 1] = 100.0
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], "conv")],
        "one",
        [value("x", TensorProto.FLOAT, [1, 4, 5, 5])],
        [value("y", TensorProto.FLOAT, [1, 4, 5, 5])],
        [numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = [{"x": draw.normal(size=(1, 4, 5, 5)).astype(np.float32)} for _ in range(4)]
    for feed in feeds:
        feed["x"][:, 1] = 0
    options = {**NPU_CNN, "extra_options": {**NPU_CNN["extra_options"], "Recipe": "plain"}}
    found = {
        each.tensor: each.alone
        for each in layer_errors(model, quantize_static(model, None, feeds, **options).model, feeds)
    }
    rounded = np.round(w)  # 100 takes steps of 2^0
    error, signal = (np.array([np.tensordot(m[:, :, 0, 0], f["x"][0], 1) for f in feeds]) for m in (rounded - w, w))
    assert found["w"] == pytest.approx(10 * math.log10((signal**2).sum() / (error**2).sum()), abs=0.1)
    assert found["w"] < 12  # the weight itself has more than 40 dB


@pytest.mark.parametrize("quant_format", [QuantFormat.QDQ, VitisQuantFormat.QDQ, VitisQuantFormat.FixNeuron])
def test_a_tensor_with_several_pairs_of_one_meaning_is_one_row(quant_format: Any) -> None:
    def found(dedicated: bool) -> list[LayerError]:
        options = {"DedicatedQDQPair": dedicated, **PLAIN}
        model = quantize_static(
            networks.network("digits"),
            None,
            networks.reader("digits", 20),
            quant_format=quant_format,
            extra_options=options,
        ).model
        return errors(model)

    assert sorted(found(True), key=lambda row: row.tensor) == sorted(found(False), key=lambda row: row.tensor)


def test_pairs_of_different_meaning_are_rows_of_their_own() -> None:
    kinds = {"quant_type": QuantType.QInt8, "convert": {"quant_type": QuantType.QInt16, "recv_nodes": {"second"}}}
    values = {"w": np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)}
    body = "a = MatMul(x, w) b = MatMul(x, w) y = Add(a, b)"
    model = graph(f"t (float[2, 8] x) => (float[2, 8] y) {{ {body} }}", 21, values)
    model.graph.node[0].name, model.graph.node[1].name = "first", "second"
    feeds = [{"x": np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)}]
    options = {"TensorQuantOverrides": {"x": [kinds]}, "Target": "cpu"}
    result = quantize_static(model, None, feeds, extra_options=options)
    rows = [row for row in layer_errors(model, result.model, feeds) if row.tensor.split(" at ")[0] == "x"]
    assert len(rows) == 2
    assert {row.tensor for row in rows} > {"x"}


@pytest.mark.parametrize("domain", ["com.vai.quantize", "ai.onnx.contrib"])
def test_models_without_functions_get_them(domain: str) -> None:
    """As AMD's tools write them: the operators alone."""
    written = quantize_static(
        networks.network("digits"),
        None,
        networks.reader("digits", 20),
        quant_format=VitisQuantFormat.QDQ if domain == "com.vai.quantize" else VitisQuantFormat.FixNeuron,
        extra_options=PLAIN,
    ).model
    bare = ModelProto()
    bare.CopyFrom(written)
    del bare.functions[:]
    if domain == "ai.onnx.contrib":
        assert any(node.domain == domain for node in bare.graph.node)
    assert errors(bare) == errors(written)
    feeds = networks.digits("digits", 2, 0).calibration
    assert compare(load_model(networks.network("digits")), bare, feeds) == compare(
        load_model(networks.network("digits")), written, feeds
    )


def test_a_model_that_does_not_load_is_a_typed_error() -> None:
    broken = ModelProto()
    broken.CopyFrom(quantized())
    next(node for node in broken.graph.node if node.op_type == "Conv").domain = "other.domain"
    with pytest.raises(ModelError, match="cannot load the quantized model"):
        errors(broken)


def test_weights_alone_are_told_by_layer() -> None:
    reference = prepared(networks.network("digits"), **NPU_CNN)
    found = layer_errors(reference, quantized(), networks.digits("digits", 4, 0).calibration, weights=True)
    told = {error.tensor: error.weights for error in found if error.weights is not None}
    assert len(told) > 4
    assert all(20 < value < 80 for value in told.values())
    assert {error.weights for error in errors(quantized())} == {None}


def test_a_spoilt_weight_shows_in_its_layer_alone() -> None:
    spoilt = ModelProto()
    spoilt.CopyFrom(quantized())
    weight = next(each for each in spoilt.graph.initializer if each.data_type == 3 and len(each.dims) == 4)
    codes = numpy_helper.to_array(weight).copy()
    codes[0] = -codes[0]
    weight.CopyFrom(numpy_helper.from_array(codes, weight.name))
    feeds, reference = networks.digits("digits", 4, 0).calibration, prepared(networks.network("digits"), **NPU_CNN)
    whole, bad = (
        {
            each.tensor: each.weights
            for each in layer_errors(reference, model, feeds, weights=True)
            if each.weights is not None
        }
        for model in (quantized(), spoilt)
    )
    assert sum(bad[name] < whole[name] - 10 for name in whole) == 1


def test_what_lies_beyond_the_codes_is_told_apart_from_rounding() -> None:
    spoilt = ModelProto()
    spoilt.CopyFrom(quantized())
    pairs = [node for node in spoilt.graph.node if node.op_type == "QuantizeLinear"]
    victim = pairs[len(pairs) // 2]
    for initializer in spoilt.graph.initializer:
        if initializer.name == victim.input[1]:
            scale = numpy_helper.to_array(initializer) / np.float32(64)
            initializer.CopyFrom(numpy_helper.from_array(np.asarray(scale), initializer.name))
    tensor = victim.name.removesuffix("_QuantizeLinear")
    before, after = ({each.tensor: each.clipped for each in errors(model)} for model in (quantized(), spoilt))
    assert before[tensor] < 0.6
    assert after[tensor] > 0.99


def test_operators_on_codes_round_as_their_pairs_would() -> None:
    """QOperator has no quantize node behind an operator: what it writes is what a pair there would."""
    model = load_model(networks.network("digits"))
    found = {}
    for each in (QuantFormat.QDQ, QuantFormat.QOperator):
        arguments = {**NPU_CNN, "quant_format": each, "enable_dpu": False, "extra_options": {"Recipe": "plain"}}
        result = quantize_static(model, None, networks.reader("digits", 20), **arguments)
        found[each] = {error.tensor: error.alone for error in errors(result.model)}
    both = found[QuantFormat.QDQ].keys() & found[QuantFormat.QOperator].keys()
    activations = [name for name in both if name not in {tensor.name for tensor in model.graph.initializer}]
    assert activations
    for name in activations:
        assert found[QuantFormat.QOperator][name] == pytest.approx(found[QuantFormat.QDQ][name], abs=1.0)


@pytest.mark.parametrize("alone", [False, True])
def test_what_a_bias_adds_follows_from_sums_by_channel(alone: bool) -> None:
    rng = np.random.default_rng(4)
    f, q = (rng.normal(size=(2, 3, 4, 4)).astype(np.float32) for _ in range(2))
    shift = np.float32([0.5, -0.25, 2.0])
    base, wanted = _Sums(1), _Sums(1)
    moved = (f if alone else q) + shift.reshape(3, 1, 1)
    for part in range(2):
        base.add(f[part : part + 1], q[part : part + 1], q[part : part + 1])
        wanted.add(f[part : part + 1], moved[part : part + 1], moved[part : part + 1])
    found = base.shifted(shift, alone=alone)
    np.testing.assert_allclose(found.moments, wanted.moments, rtol=1e-5)
    np.testing.assert_allclose((found.signal, found.alone), (wanted.signal, wanted.alone), rtol=1e-5)
    assert found.contrast() == pytest.approx(wanted.contrast(), rel=1e-5)


def test_what_is_not_finite_in_float_is_left_out() -> None:
    f = np.float32([[1.0, np.inf, 2.0], [np.nan, 3.0, 4.0]])
    q = np.float32([[1.5, 7.0, 2.0], [9.0, 3.0, 3.0]])
    sums = _Sums(-1)
    sums.add(f, q, q)
    assert (sums.signal, sums.through, sums.alone, sums.clipped) == (30.0, 1.25, 1.25, 1.25)
    assert not np.isnan(sums.contrast())
