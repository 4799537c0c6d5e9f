"""Biases take back what rounding weights adds to the mean."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.zoo.configurations import CPU, CPU_PER_CHANNEL, NPU_CNN

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx import ModelProto

CHANNELS = 8
Feeds = list[dict[str, "np.ndarray[Any, Any]"]]


def convolution(group: int, *, large_input: bool = False) -> ModelProto:
    """One channel's weights are 100 times the others', which then have few steps: those that make an output channel, or
    those that read an input channel, which no scale per output channel tells apart."""
    draw = np.random.default_rng(1)
    w = draw.normal(size=(CHANNELS, CHANNELS // group, 3, 3)).astype(np.float32)
    w[:, :1] *= 100 if large_input else 1
    w[0] *= 1 if large_input else 100
    b = draw.normal(size=CHANNELS).astype(np.float32)
    shape = [1, CHANNELS, 12, 12]
    value = helper.make_tensor_value_info
    return helper.make_model(
        helper.make_graph(
            [helper.make_node("Conv", ["x", "w", "b"], ["y"], "conv", group=group)],
            "one",
            [value("x", TensorProto.FLOAT, shape)],
            [value("y", TensorProto.FLOAT, [1, CHANNELS, 10, 10])],
            [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )


def gemm() -> ModelProto:
    draw = np.random.default_rng(2)
    w = draw.normal(size=(16, CHANNELS)).astype(np.float32)
    w[:, 0] *= 100
    value = helper.make_tensor_value_info
    return helper.make_model(
        helper.make_graph(
            [helper.make_node("Gemm", ["x", "w", "b"], ["y"], "gemm")],
            "one",
            [value("x", TensorProto.FLOAT, [1, 16])],
            [value("y", TensorProto.FLOAT, [1, CHANNELS])],
            [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.ones(CHANNELS, np.float32), "b")],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )


def samples(model: ModelProto) -> Feeds:
    draw = np.random.default_rng(3)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    return [{"x": draw.uniform(2, 3, shape).astype(np.float32)} for _ in range(16)]


def shifts(model: ModelProto, quantized: ModelProto, feeds: Feeds) -> np.ndarray[Any, Any]:
    """Mean error of every channel but the large one, whose own steps are coarse."""
    left, right = open_session(model), open_session(quantized)
    error = np.mean([right.run(None, feed)[0] - left.run(None, feed)[0] for feed in feeds], axis=0)
    return np.asarray(error.reshape(CHANNELS, -1).mean(axis=1)[1:])


@pytest.mark.parametrize("model", [convolution(1), convolution(CHANNELS), gemm()], ids=["Conv", "depthwise", "Gemm"])
def test_the_mean_comes_back(model: ModelProto, reader: Callable[[Feeds], Any]) -> None:
    feeds = samples(model)
    quantized = {
        corrected: quantize_static(
            model,
            None,
            reader(feeds),
            **{
                **CPU,
                "extra_options": {
                    "Target": "cpu",
                    "BiasCorrection": corrected,
                    "OpTypesToExcludeOutputQuantization": [model.graph.node[0].op_type],
                },
            },
        )
        for corrected in (False, True)
    }
    before, after = (np.abs(shifts(model, quantized[on].model, feeds)).max() for on in (False, True))
    assert quantized[True].report.transforms["BiasCorrection"] == 1
    assert after < before / 5, (before, after)


@pytest.mark.parametrize("configuration", [NPU_CNN, CPU_PER_CHANNEL])
def test_every_configuration_takes_it(configuration: dict[str, Any], reader: Callable[[Feeds], Any]) -> None:
    model = convolution(1, large_input=configuration.get("per_channel", False))
    options = {**configuration["extra_options"], "BiasCorrection": True}
    result = quantize_static(model, None, reader(samples(model)), **{**configuration, "extra_options": options})
    assert result.report.transforms["BiasCorrection"] == 1
    assert not result.report.violations


@pytest.mark.parametrize("preset", ["MX6", "MXFP8", "MXFP4"])
def test_in_blocks_the_mean_comes_back_unasked(preset: str, reader: Callable[[Feeds], Any]) -> None:
    """Weights of such types lie on even steps, or on none."""
    model = convolution(1)
    feeds = samples(model)
    corrected, plain = (
        quantize_static(model, None, reader(feeds), extra_options={"Preset": preset, "Recipe": recipe})
        for recipe in ("auto", "plain")
    )
    before, after = (np.abs(shifts(model, each.model, feeds)).max() for each in (plain, corrected))
    assert corrected.report.transforms["BiasCorrection"] == 1
    assert after < before / 4, (before, after)


@pytest.mark.parametrize("preset", ["BF16", "FP16"])
def test_what_half_floats_lose_is_not_looked_for(preset: str, reader: Callable[[Feeds], Any]) -> None:
    model = gemm()
    one, other = (
        quantize_static(model, None, reader(samples(model)), extra_options={"Preset": preset, "Recipe": recipe})
        for recipe in ("auto", "plain")
    )
    assert [t.raw_data for t in one.model.graph.initializer] == [t.raw_data for t in other.model.graph.initializer]


def with_options(configuration: dict[str, Any], **options: object) -> dict[str, Any]:
    return {**configuration, "extra_options": {**configuration["extra_options"], **options}}


@pytest.mark.parametrize("options", [{"Recipe": "plain"}, {"BiasCorrection": False}])
def test_it_can_be_switched_off(options: dict[str, Any], reader: Callable[[Feeds], Any]) -> None:
    model = convolution(1)
    result = quantize_static(model, None, reader(samples(model)), **with_options(NPU_CNN, **options))
    assert "BiasCorrection" not in result.report.transforms


def test_few_samples_correct_nothing_and_the_report_says_how_many_would_do(reader: Callable[[Feeds], Any]) -> None:
    model = convolution(1)
    asked = with_options(NPU_CNN, BiasCorrection=True)
    few = quantize_static(model, None, reader(samples(model)[:7]), **asked)
    plain = quantize_static(model, None, reader(samples(model)[:7]), **with_options(NPU_CNN, Recipe="plain"))
    assert few.report.transforms["BiasCorrection"] == 0
    assert any("7 samples are too few" in note and "8 would do" in note for note in few.report.notes)
    assert [t.raw_data for t in few.model.graph.initializer] == [t.raw_data for t in plain.model.graph.initializer]


def test_random_data_teach_nothing() -> None:
    result = quantize_static(convolution(1), None, None, **with_options(NPU_CNN, BiasCorrection=True))
    assert "BiasCorrection" not in result.report.transforms
    assert any("BiasCorrection is off" in note for note in result.report.notes)


def test_what_is_near_to_float_in_blocks_is_left_and_told(reader: Callable[[Feeds], Any]) -> None:
    model = convolution(1)
    one, other = (
        quantize_static(model, None, reader(samples(model)), extra_options={"Preset": "MXINT8", "Recipe": recipe})
        for recipe in ("auto", "plain")
    )
    assert any("Recipe: biases are as they are: over 5 samples" in note for note in one.report.notes)
    assert [t.raw_data for t in one.model.graph.initializer] == [t.raw_data for t in other.model.graph.initializer]
