"""What is chosen on samples held out is then found by all, and helps where samples are few."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from ort_vitis_finetune.candidates import HESSIAN, KEEP, Constants, Inputs, Problem, choose, outputs_of
from ort_vitis_finetune.grid import Grid
from ort_vitis_finetune.layer import Layer
from ort_vitis_finetune.moments import Moments, MomentSums

K, OUTPUTS, SEEN = 48, 24, 4


class World:
    """Inputs of which each sample has directions of its own beside those of all, and what quantization did to them."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        self._common = self._draw.normal(size=(8, K))

    def sample(self, columns: int = 16) -> Inputs:
        """One sample: columns [1, K, column]."""
        own = self._draw.normal(size=(4, K))
        x = self._draw.normal(size=(columns, 12)) @ np.concatenate([self._common, own])
        noise = 0.3 * self._draw.normal(size=x.shape)
        return Inputs(*(part.T[None].astype(np.float32) for part in (x, x + noise)))


def problem(seed: int) -> Problem:
    weights = np.random.default_rng(seed).normal(size=(OUTPUTS, K)).astype(np.float32)
    layer = Layer(helper.make_node("Gemm", ["x", "w"], ["y"], transB=1), weights.shape)
    grid = Grid(np.float32(0.5), np.int64(0), -8, 7)
    codes = grid.nearest(weights)
    return Problem(layer, weights, None, grid, None, Constants(codes, grid.values(codes), None))


def moments(samples: list[Inputs]) -> Moments:
    sums = MomentSums(1, K, centred=False)
    for each in samples:
        sums.add(each.x_f, each.x_q)
    return sums.result()


def error(asked: Problem, weights: NDArray[np.float32], samples: list[Inputs]) -> float:
    gaps = [
        outputs_of(asked.layer, asked.weights, None, each.x_f) - outputs_of(asked.layer, weights, None, each.x_q)
        for each in samples
    ]
    return float(np.mean([np.square(gap).mean() for gap in gaps]))


def samples_of(world: World) -> tuple[list[Inputs], list[Inputs]]:
    """(those that teach, those held out)."""
    return [world.sample() for _ in range(SEEN)], [world.sample() for _ in range(SEEN)]


@pytest.mark.parametrize("seed", range(3))
def test_on_samples_to_come_a_layer_is_nearer_than_as_it_was(seed: int) -> None:
    asked, world = problem(seed), World(seed)
    teach, held = samples_of(world)
    choice = choose(asked, moments(teach), held, of_all=lambda: moments(teach + held))
    unseen = [world.sample() for _ in range(64)]
    assert choice.name != KEEP
    assert error(asked, choice.constants.weights, unseen) < 0.8 * error(asked, asked.now.weights, unseen)


def test_samples_that_have_judged_teach_too() -> None:
    asked = problem(0)
    teach, held = samples_of(World(0))
    first = choose(asked, moments(teach), held)
    then = choose(asked, moments(teach), held, of_all=lambda: moments(teach + held))
    whole = choose(asked, moments(teach + held), held, (first.name,))
    assert (first.name, first.error, first.before) == (then.name, then.error, then.before)
    assert np.array_equal(then.constants.codes, whole.constants.codes)
    assert not np.array_equal(then.constants.codes, first.constants.codes)


def test_weights_of_8_bits_are_those_of_the_samples_that_taught() -> None:
    coarse = problem(0)
    grid = Grid(np.float32(1 / 32), np.int64(0), -128, 127)
    codes = grid.nearest(coarse.weights)
    asked = replace(coarse, grid=grid, now=Constants(codes, grid.values(codes), None))
    teach, held = samples_of(World(0))
    choice = choose(asked, moments(teach), held, of_all=lambda: pytest.fail("asked for all samples"))
    assert choice.name in HESSIAN
