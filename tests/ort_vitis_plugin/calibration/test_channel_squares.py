"""Sums of squares by channel: exact, whatever the order, the workers, and the way in which a model is observed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from ort_vitis_plugin.calibration import Calibration, calibration_of
from ort_vitis_plugin.calibration.channel_squares import Channels, ChannelSquares
from ort_vitis_plugin.sketch import engine as sketch_engine

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import ModelProto

POSITIVE = st.floats(0, 2.0**100, width=32)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # how busy the machine is shows no defect
@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=20), st.randoms())
def test_sums_are_exact_in_any_order_and_any_parts(rows: list[tuple[float, float]], chance: Any) -> None:
    whole, parts = ChannelSquares(), [ChannelSquares(), ChannelSquares()]
    for row in rows:
        whole.add(np.array(row, np.float32), 3)
    for number, row in enumerate(chance.sample(rows, len(rows))):
        parts[number % 2].add(np.array(row, np.float32), 3)
    parts[0].merge(parts[1])
    np.testing.assert_array_equal(parts[0].mean(), whole.mean())
    assert parts[0].count == whole.count == 3 * len(rows)
    for channel, mean in enumerate(whole.mean()):
        exact = sum((Fraction(row[channel]) for row in rows), Fraction()) / (3 * len(rows))
        assert mean == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize("samples", [31, 32, 33, 70])
def test_samples_that_wait_are_not_lost(samples: int) -> None:
    rows = np.random.default_rng(samples).lognormal(0, 20, (samples, 3)).astype(np.float32)
    whole, begun = ChannelSquares(), ChannelSquares()
    for number, row in enumerate(rows):
        whole.add(row, 1)
        begun.add(row, 1)
        if number == 5:
            begun = ChannelSquares(begun.places, begun.count)  # as from a file
    whole.add(np.ones(4, np.float32), 1)  # another number of channels
    np.testing.assert_array_equal(whole.places, begun.places)
    assert whole.count == begun.count == samples
    exact = [float(sum(map(Fraction, map(float, column)), Fraction()) / samples) for column in rows.T]
    np.testing.assert_allclose(whole.mean(), exact, rtol=1e-14)


@pytest.mark.parametrize("value", [1.0, 2.0**-149, 2.0**100, 3.0 * 2.0**-20, 16777215.0])
def test_a_sum_is_an_integer_in_places_of_16_bits(value: float) -> None:
    """Files keep the places, so what they mean does not change."""
    squares = ChannelSquares()
    squares.add(np.array([value, 0], np.float32), 1)
    weights = [Fraction(2) ** (16 * place - 149) for place in range(18)]
    assert squares.places.shape == (2, 18)
    for row, wanted in zip(squares.places, (value, 0), strict=True):
        assert sum(int(place) * weight for place, weight in zip(row, weights, strict=True)) == wanted


def test_samples_that_are_not_finite_or_empty_are_left_out() -> None:
    squares = ChannelSquares()
    squares.add(np.array([1.0, np.inf]), 4)
    squares.add(np.array([1.0, np.nan]), 4)
    squares.add(np.array([0.0, 0.0]), 0)
    assert squares.mean().size == 0
    squares.add(np.array([8.0, 2.0]), 4)
    np.testing.assert_array_equal(squares.mean(), [2.0, 0.5])


def model() -> ModelProto:
    """x [N, 4, 6, 6] -> Conv -> Flatten -> Gemm -> MatMul."""
    draw = np.random.default_rng(0)
    constants = {"w": (3, 4, 3, 3), "g": (48, 5), "m": (5, 2)}
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], "conv"),
            helper.make_node("Flatten", ["c"], ["f"], "flatten"),
            helper.make_node("Gemm", ["f", "g"], ["h"], "gemm"),
            helper.make_node("MatMul", ["h", "m"], ["y"], "matmul"),
        ],
        "three",
        [value("x", TensorProto.FLOAT, ["N", 4, 6, 6])],
        [value("y", TensorProto.FLOAT, ["N", 2])],
        [
            numpy_helper.from_array(draw.normal(size=shape).astype(np.float32), name)
            for name, shape in constants.items()
        ],
    )
    graph.node[2].input[1] = "g"
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


WANTED = (Channels("x", 1, 4, 4), Channels("f", 1, 48, 2), Channels("h", -1, 5))


def feeds() -> list[dict[str, np.ndarray[Any, Any]]]:
    draw = np.random.default_rng(1)
    return [{"x": draw.normal(size=(size, 4, 6, 6)).astype(np.float32)} for size in (1, 3, 2, 0, 4)]


@pytest.mark.parametrize("observers", [True, False])
def test_energies_are_mean_squares_of_channels(observers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not observers:
        monkeypatch.setattr(sketch_engine, "library", lambda: None)
    found = calibration_of(model(), feeds(), ["x", "f", "h"], channels=WANTED).energies
    x = np.concatenate([feed["x"] for feed in feeds()])
    np.testing.assert_allclose(found[WANTED[0]].mean(), (x.astype(np.float64) ** 2).mean(axis=(0, 2, 3)), rtol=1e-6)
    assert [found[channels].mean().size for channels in WANTED] == [4, 48, 5]
    assert [found[channels].count for channels in WANTED] == [360, 10, 10]


def test_workers_and_files_give_the_same_bits(tmp_path: Path) -> None:
    here = calibration_of(model(), feeds(), ["y"], channels=WANTED)
    with ThreadPoolExecutor(2) as executor:
        there = calibration_of(model(), feeds(), ["y"], channels=WANTED, executor=executor)
    here.save(tmp_path / "saved")
    loaded = Calibration.load(tmp_path / "saved", model())
    for channels, squares in here.energies.items():
        np.testing.assert_array_equal(there.energies[channels].places, squares.places)
        np.testing.assert_array_equal(loaded.energies[channels].places, squares.places)
        assert loaded.energies[channels].count == there.energies[channels].count == squares.count
