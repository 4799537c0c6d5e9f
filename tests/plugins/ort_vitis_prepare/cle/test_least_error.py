"""Factors by error leave less error than factors by range, and neither clip nor coarsen what they pass."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import PowerOfTwoMethod, QuantType, with_outputs
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import graph, run_model
from tests.plugins.ort_vitis_prepare.cle.observer import Observer

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.option("CLEObjective")]
# Two layers write one sum, as in a residual network; rows differ by 2^±3.
BODY = (
    "a = Conv(x, w0) r = Clip(a, lo, hi) c = Conv<pads = [1, 1, 1, 1]>(r, w1) d = Conv<pads = [1, 1, 1, 1]>(x, w2)"
    " s = Add(c, d) q = Relu(s) y = Conv(q, w4)"
)
SHAPES = {"w0": (16, 3, 1, 1), "w1": (16, 16, 3, 3), "w2": (16, 3, 3, 3), "w4": (10, 16, 1, 1)}


def network(*dead: str) -> ModelProto:
    """The network; layers whose weights are named are 0, and of the others' rows one is."""
    draw = np.random.default_rng(0)
    skew = 2.0 ** draw.uniform(-3, 3, 16)
    constants: dict[str, NDArray[Any]] = {
        name: (draw.normal(size=shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        for name, shape in SHAPES.items()
    }
    for name in ("w1", "w2"):
        constants[name] *= skew.astype(np.float32).reshape(16, 1, 1, 1)
    if dead:
        constants |= {name: np.zeros_like(constants[name]) for name in dead}
        constants["w0"][3] = 0
    constants |= {"lo": np.array(0, np.float32), "hi": np.array(2, np.float32)}
    return graph(f"t (float[1, 3, 8, 8] x) => (float[1, 10, 8, 8] y) {{ {BODY} }}", constants=constants)


def feeds(count: int = 16, seed: int = 0) -> list[dict[str, Any]]:
    draw = np.random.default_rng(seed)
    return [{"x": draw.normal(size=(1, 3, 8, 8)).astype(np.float32)} for _ in range(count)]


CPU_INT4: dict[str, Any] = {
    "calibrate_method": PowerOfTwoMethod.MinMSE,
    "activation_type": QuantType.QUInt8,
    "weight_type": QuantType.QInt4,
}


def quantized(
    reader: Any, *, per_channel: bool = False, model: ModelProto | None = None, **options: Any
) -> tuple[ModelProto, ModelProto]:
    """(what preparation made, what is written)."""
    observer, manager = Observer(), new_manager(entry_points=False)
    manager.register(observer)
    asked = {
        "IncludeCLE": True,
        "Target": "cpu",
        "SelfCheck": False,
        "Recipe": "plain",
        "CLEObjective": "error",
        **options,
    }
    call = {**CPU_INT4, "per_channel": per_channel, "extra_options": asked}
    written = quantize_static(model or network(), None, reader, plugins=manager, **call).model
    return observer.model, written


def error_of(written: ModelProto) -> float:
    pairs = [(run_model(network(), feed)["y"], run_model(written, feed)["y"]) for feed in feeds(seed=3)]
    return float(
        sum(np.square(one - other).sum() for one, other in pairs) / sum(np.square(one).sum() for one, _ in pairs)
    )


def weights(model: ModelProto) -> list[NDArray[Any]]:
    return [array for tensor in model.graph.initializer if (array := numpy_helper.to_array(tensor)).ndim > 1]


def test_four_bits_lose_less_than_with_factors_by_range_or_none() -> None:
    by_error, by_range, without = (
        error_of(quantized(feeds(), **options)[1]) for options in ({}, {"CLEObjective": "range"}, {"IncludeCLE": False})
    )
    assert by_error < 0.85 * min(by_range, without)


def test_the_float_network_stays_what_it_was() -> None:
    prepared, _ = quantized(feeds())
    assert any(not np.array_equal(one, other) for one, other in zip(weights(prepared), weights(network()), strict=True))
    for feed in feeds(seed=4):
        np.testing.assert_allclose(
            run_model(prepared, feed)["y"], run_model(network(), feed)["y"], rtol=0.02, atol=0.02
        )


def test_no_step_of_an_activation_grows() -> None:
    prepared, _ = quantized(feeds())
    names = ["a", "c", "d", "s"]
    for model in (before := with_outputs(network(), names), with_outputs(prepared, names)):
        peaks = {name: max(np.abs(run_model(model, feed)[name]).max() for feed in feeds()) for name in names}
        if model is before:
            reach = {name: 2.0 ** np.ceil(np.log2(peak)) for name, peak in peaks.items()}
    assert all(peaks[name] <= 1.0001 * reach[name] for name in names)


@pytest.mark.parametrize(("reader", "per_channel"), [(None, False), (iter(feeds()), False), (feeds(), True)])
def test_what_cannot_be_followed_is_done_by_range(reader: Any, per_channel: bool) -> None:
    samples = reader if reader is None or per_channel else list(reader)
    again = [iter(samples) if samples and not per_channel else samples for _ in range(2)]
    found, expected = (
        quantized(each, per_channel=per_channel, CLEObjective=objective)[0]
        for each, objective in zip(again, ("error", "range"), strict=True)
    )
    assert all(np.array_equal(one, other) for one, other in zip(weights(found), weights(expected), strict=True))


@pytest.mark.filterwarnings("error:.*(divide|invalid value|overflow).*:RuntimeWarning")
def test_layers_and_channels_that_give_nothing_stay_as_they_are() -> None:
    model = network("w2")
    prepared, _ = quantized(feeds(), model=model)
    for feed in feeds(seed=4):
        np.testing.assert_allclose(run_model(prepared, feed)["y"], run_model(model, feed)["y"], rtol=0.02, atol=0.02)
