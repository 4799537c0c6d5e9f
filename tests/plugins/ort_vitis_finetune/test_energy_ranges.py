"""Ranges have the least error that counts: against every step there is, and against dead channels."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from ort_vitis_finetune.energy_ranges import energy_grid, energy_positions, importance_of
from ort_vitis_finetune.grid import Grid
from ort_vitis_finetune.layer import Layer
from ort_vitis_plugin.numerics.positions import scale_of

Array = np.ndarray[Any, Any]


def weighed_error(w: Array, importance: Array, grid: Grid) -> Array:
    return np.asarray(importance * (w - grid.rounded(w).astype(np.float64)) ** 2)


def weights(seed: int, shape: tuple[int, int] = (6, 8)) -> tuple[Array, Array]:
    draw = np.random.default_rng(seed)
    w = (draw.normal(size=shape) * np.exp2(draw.integers(-3, 4, (shape[0], *[1] * (len(shape) - 1))))).astype(
        np.float32
    )
    return w, draw.exponential(size=(1, shape[1], *[1] * (len(shape) - 2)))


@given(st.integers(0, 10**6), st.sampled_from([(-8, 7), (-128, 127), (-1, 1)]))
@settings(max_examples=30, deadline=None)
def test_no_other_position_has_less_error(seed: int, limits: tuple[int, int]) -> None:
    w, importance = weights(seed)
    found = int(energy_positions(w, importance, limits))

    def error(position: int) -> float:
        grid = Grid(np.asarray(scale_of(position), np.float32), np.zeros((), np.int64), *limits)
        return float(np.sum(weighed_error(w, importance, grid)))

    assert error(found) == min(error(position) for position in range(-6, 15))


@pytest.mark.parametrize("limits", [(-8, 7), (-128, 127)])
def test_channels_and_blocks_are_searched_each_for_itself(limits: tuple[int, int]) -> None:
    w, importance = weights(1, (6, 10))
    channels = energy_positions(w, importance, limits, axis=0)
    assert channels.tolist() == [int(energy_positions(w[i : i + 1], importance, limits)) for i in range(6)]
    blocks = energy_positions(w, importance, limits, axis=1, block=4)
    assert blocks.shape == (6, 3)
    for row in range(6):
        for number, part in enumerate((slice(0, 4), slice(4, 8), slice(8, 10))):
            assert blocks[row, number] == energy_positions(w[row : row + 1, part], importance[:, part], limits)


@pytest.mark.parametrize("power_of_two", [False, True])
@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("symmetric", [False, True])
def test_dead_channels_set_no_step(power_of_two: bool, axis: int | None, symmetric: bool) -> None:
    w, importance = weights(2)
    w[:, 3] *= 1000
    dead = importance.copy()
    dead[:, 3] = 0
    without = np.delete(w, 3, axis=1), np.delete(importance, 3, axis=1)
    options: dict[str, Any] = {"axis": axis, "symmetric": symmetric, "power_of_two": power_of_two}
    found, wanted = energy_grid(w, dead, (-128, 127), **options), energy_grid(*without, (-128, 127), **options)
    np.testing.assert_array_equal(found.scale, wanted.scale)
    np.testing.assert_array_equal(found.zero_point, wanted.zero_point)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=8, deadline=None)
def test_float_steps_are_near_the_best_of_many(seed: int, per_channel: bool) -> None:
    w, importance = weights(seed, (6, 40))
    axis = 0 if per_channel else None
    grid = energy_grid(w, importance, (-8, 7), axis=axis)
    ours = weighed_error(w, importance, grid).sum(axis=1 if per_channel else None)
    largest = np.abs(w).max(axis=1 if per_channel else None)
    tried = []
    for share in np.linspace(0.2, 1.1, 200):
        scale = np.asarray(largest / 7 * share, np.float32)
        other = Grid(scale, np.zeros(scale.shape, np.int64), -8, 7, axis)
        tried.append(weighed_error(w, importance, other).sum(axis=1 if per_channel else None))
    assert np.all(ours <= 1.05 * np.min(tried, axis=0))


@pytest.mark.parametrize("codes", [(0, 15), (-8, 7), (0, 255)])
def test_asymmetric_ranges_beat_symmetric_ones_on_one_sided_weights(codes: tuple[int, int]) -> None:
    w, importance = weights(4)
    w = np.abs(w) + 0.1
    plain, shifted = (energy_grid(w, importance, codes, symmetric=symmetric) for symmetric in (True, False))
    errors = [float(weighed_error(w, importance, grid).sum()) for grid in (plain, shifted)]
    assert errors[1] < errors[0] / 2
    assert codes[0] <= int(shifted.zero_point) <= codes[1]


def test_power_of_two_grids_have_such_steps() -> None:
    w, importance = weights(5)
    grid = energy_grid(w, importance, (0, 15), axis=0, power_of_two=True)
    assert np.all(np.frexp(grid.scale)[0] == 0.5)
    assert np.all(grid.zero_point == 8)


@pytest.mark.parametrize("power_of_two", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_zeros_and_lanes_without_energy_get_a_step(power_of_two: bool, symmetric: bool) -> None:
    w, _ = weights(6)
    w[0] = 0
    for importance in (np.zeros((1, 8)), np.ones((1, 8))):
        grid = energy_grid(w, importance, (-128, 127), axis=0, symmetric=symmetric, power_of_two=power_of_two)
        assert np.isfinite(grid.scale).all()
        assert np.all(grid.scale > 0)
        assert np.all(grid.rounded(w)[0] == 0)
        assert np.abs(grid.rounded(w) - w).max() < np.abs(w).max() / 50


def layer(op_type: str, shape: tuple[int, ...], *, left: bool = False, **attributes: Any) -> Layer:
    names = ["w", "x"] if left else ["x", "w"]
    return Layer(helper.make_node(op_type, names, ["y"], **attributes), shape, int(left), int(not left))


@pytest.mark.parametrize(
    ("known", "channels"),
    [
        (layer("Conv", (6, 2, 3, 3), group=2), 4),
        (layer("Conv", (4, 1, 3), group=4), 4),
        (layer("ConvTranspose", (4, 3, 2, 2), group=2), 4),
        (layer("Gemm", (5, 3)), 5),
        (layer("Gemm", (3, 5), transB=1), 5),
        (layer("MatMul", (2, 5, 3)), 5),
        (layer("MatMul", (3, 5), left=True), 5),
    ],
    ids=lambda value: f"{value.node.op_type}{list(value.shape)}" if isinstance(value, Layer) else "",
)
def test_each_weight_knows_the_energy_of_what_it_multiplies(known: Layer, channels: int) -> None:
    """An input that is not 0 in one channel alone reaches the weights of that channel, and no others."""
    for channel in range(channels):
        energy = np.zeros(channels)
        energy[channel] = 2.0
        spread = np.broadcast_to(importance_of(known, energy), known.shape)
        x_shape = {"Gemm": (1, channels), "MatMul": (2, 1, channels)}.get(
            known.node.op_type, (1, channels, *[4] * (len(known.shape) - 2))
        )
        x = np.zeros(x_shape, np.float32)
        if known.constant == 0:
            x = np.zeros((channels, 1), np.float32)
            x[channel] = 1
        elif known.node.op_type in ("Gemm", "MatMul"):
            x[..., channel] = 1
        else:
            x[:, channel] = 1
        columns = known.columns(x)
        read = np.any(columns.take(np.arange(len(columns))) != 0, axis=2)
        reached = np.broadcast_to(read[:, None, :], known.rows(spread).shape)
        np.testing.assert_array_equal(known.rows(spread) == 2.0, reached)
