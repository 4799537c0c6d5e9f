"""What the default recipe does, with which samples, what each switch forces, and what the report says of it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ort_vitis_plugin import PowerOfTwoMethod, calibrate, quantize_static
from ort_vitis_plugin.data_readers import RandomDataReader
from ort_vitis_plugin.measure.network_error import NetworkError
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.pipeline.recipe import is_clearly_better
from tests.zoo.configurations import CPU, CPU_PER_CHANNEL, NPU_CNN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import ModelProto

    from ort_vitis_plugin.report.report import Result

Feeds = list[dict[str, "np.ndarray[Any, Any]"]]
CHANNELS, DEAD = 12, (2, 7)


def network(*, dead: float = 60.0) -> ModelProto:
    """Of the kind of MobileNetV2: an expansion, a depthwise layer some of whose channels are always 0 under weights
    that are huge, and a projection."""
    draw = np.random.default_rng(0)
    shapes = {
        "w0": (CHANNELS, 3, 1, 1),
        "w1": (CHANNELS, 1, 3, 3),
        "w2": (8, CHANNELS, 1, 1),
        "w3": (8, 5),
        "b0": (CHANNELS,),
        "b1": (CHANNELS,),
        "b2": (8,),
        "b3": (5,),
    }
    constants = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    constants["w0"][list(DEAD)], constants["b0"][list(DEAD)] = 0.0, -1.0
    constants["b1"][list(DEAD)] = -1.0
    constants["w1"][list(DEAD)] = dead * np.sign(constants["w1"][list(DEAD)])
    constants["w2"][:, list(DEAD)] = dead * np.sign(constants["w2"][:, list(DEAD)])
    node, value = helper.make_node, helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            node("Conv", ["x", "w0", "b0"], ["c0"], "expand"),
            node("Relu", ["c0"], ["r0"], "relu0"),
            node("Conv", ["r0", "w1", "b1"], ["c1"], "depthwise", group=CHANNELS, pads=[1, 1, 1, 1]),
            node("Relu", ["c1"], ["r1"], "relu1"),
            node("Conv", ["r1", "w2", "b2"], ["c2"], "project"),
            node("GlobalAveragePool", ["c2"], ["p"], "pool"),
            node("Flatten", ["p"], ["f"], "flatten"),
            node("Gemm", ["f", "w3", "b3"], ["y"], "classes"),
        ],
        "dead channels",
        [value("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [value("y", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def samples(count: int = 24, seed: int = 1) -> Feeds:
    draw = np.random.default_rng(seed)
    return [{"x": draw.normal(size=(1, 3, 8, 8)).astype(np.float32)} for _ in range(count)]


def quantized(configuration: dict[str, Any], reader: Any, *, model: ModelProto | None = None, **options: Any) -> Result:
    options = {**configuration["extra_options"], **options}
    return quantize_static(model or network(), None, reader, **{**configuration, "extra_options": options})


def error(result: Result) -> float:
    """|f - q|^2 / |f|^2 on samples that nobody saw."""
    one, other = open_session(network()), open_session(result.model)
    f, q = (np.stack([each.run(None, feed)[0] for feed in samples(40, seed=9)]) for each in (one, other))
    return float(((f - q) ** 2).sum() / (f**2).sum())


def notes(result: Result) -> str:
    return "\n".join(note for note in result.report.notes if note.startswith(("Recipe", "BiasCorrection")))


@pytest.mark.parametrize("configuration", [NPU_CNN, CPU, CPU_PER_CHANNEL], ids=["NPU", "CPU", "per channel"])
def test_dead_channels_set_nobodys_step(configuration: dict[str, Any]) -> None:
    plain, auto = quantized(configuration, samples(), Recipe="plain"), quantized(configuration, samples())
    assert "are taken" in notes(auto)
    assert not notes(plain)
    assert error(auto) < error(plain) / 10
    assert error(auto) < 2e-3


@pytest.mark.parametrize("configuration", [NPU_CNN, CPU], ids=["NPU", "CPU"])
def test_every_switch_forces_its_part_and_plain_is_all_of_them_off(configuration: dict[str, Any]) -> None:
    plain = quantized(configuration, samples(), Recipe="plain")
    off = quantized(configuration, samples(), WeightRange="method", BiasCorrection=False)
    assert [t.raw_data for t in off.model.graph.initializer] == [t.raw_data for t in plain.model.graph.initializer]
    energy = quantized(configuration, samples(), Recipe="plain", WeightRange="energy")
    assert error(energy) < error(plain) / 10
    assert "BiasCorrection" not in energy.report.transforms
    both = quantized(configuration, samples(), Recipe="plain", WeightRange="energy", BiasCorrection=True)
    assert "BiasCorrection" in both.report.transforms


def test_what_samples_held_out_do_not_confirm_is_left() -> None:
    """Without dead channels little is gained: whatever is taken, unseen samples lose nothing."""
    model = network(dead=1.0)
    results = [quantized(NPU_CNN, samples(), model=model, **o) for o in ({}, {"Recipe": "plain"})]
    one = open_session(model)
    errors = []
    for result in results:
        other = open_session(result.model)
        pairs = [(one.run(None, feed)[0], other.run(None, feed)[0]) for feed in samples(40, seed=9)]
        errors.append(sum(float(((f - q) ** 2).sum()) for f, q in pairs))
    assert errors[0] < 1.05 * errors[1]
    assert "samples held out" in notes(results[0])


def test_non_overflow_keeps_its_promise_for_weights() -> None:
    asked = {**NPU_CNN, "calibrate_method": PowerOfTwoMethod.NonOverflow}
    never, plain = (quantized(asked, samples(), BiasCorrection=False, **o) for o in ({}, {"Recipe": "plain"}))
    assert [t.raw_data for t in never.model.graph.initializer] == [t.raw_data for t in plain.model.graph.initializer]


def once(feeds: Feeds) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
    yield from feeds


@pytest.mark.parametrize("configuration", [NPU_CNN, CPU], ids=["NPU", "CPU"])
def test_a_reader_that_is_read_once_gives_the_same_bytes(configuration: dict[str, Any]) -> None:
    again, only = (quantized(configuration, reader) for reader in (samples(), once(samples())))
    assert only.model.SerializeToString() == again.model.SerializeToString()


def test_two_calls_give_the_same_bytes() -> None:
    one, other = (quantized(NPU_CNN, samples()) for _ in range(2))
    assert one.model.SerializeToString() == other.model.SerializeToString()


def test_few_samples_decide_nothing() -> None:
    few, plain = quantized(NPU_CNN, samples(7)), quantized(NPU_CNN, samples(7), Recipe="plain")
    assert "7 samples are too few" in notes(few)
    assert [t.raw_data for t in few.model.graph.initializer] == [t.raw_data for t in plain.model.graph.initializer]


@pytest.mark.parametrize("given", [False, True])
def test_random_samples_decide_nothing(given: bool) -> None:
    reader = RandomDataReader(network(), samples=16) if given else None
    auto, plain = (
        quantized(NPU_CNN, reader),
        quantized(NPU_CNN, reader and RandomDataReader(network(), samples=16), Recipe="plain"),
    )
    assert [t.raw_data for t in auto.model.graph.initializer] == [t.raw_data for t in plain.model.graph.initializer]


def test_a_saved_calibration_alone_decides_nothing_and_the_report_says_so() -> None:
    saved = calibrate(network(), samples(), enable_dpu=True)
    alone = quantize_static(network(), None, None, calibration=saved, **NPU_CNN)
    plain = quantized(NPU_CNN, samples(), Recipe="plain")
    assert "there are no samples to judge by" in notes(alone)
    assert [t.raw_data for t in alone.model.graph.initializer] == [t.raw_data for t in plain.model.graph.initializer]
    forced = quantize_static(
        network(),
        None,
        None,
        calibration=saved,
        **{**NPU_CNN, "extra_options": {**NPU_CNN["extra_options"], "WeightRange": "energy"}},
    )
    assert error(forced) < error(plain) / 10


@pytest.mark.parametrize(
    ("before", "now", "better"), [(0.6, 0.5, False), (0.9, 0.4, True), (0.2, 0.15, True), (2.0, 0.2, True)]
)
def test_of_two_that_are_noise_only_half_the_error_is_better(before: float, now: float, better: bool) -> None:
    one, other = (NetworkError(np.full((16, 1), error), np.ones(16)) for error in (now, before))
    assert one.is_better_than(other)
    assert is_clearly_better(one, other) is better
