"""Several ways to round a layer are tried; the one whose output is nearest on samples that it has not seen is taken.

error = E |W x_f + b - Q x_q - b'|^2,     b' = b + W E[x_f] - Q E[x_q]
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .rounding import Lattice, damped, solve
from .trials import Trial, least_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from .grid import Grid
    from .layer import Layer
    from .moments import Moments

KEEP, BIAS, SYMMETRIC = "keep", "bias", "symmetric"
# The more damped, the less a layer mends of what those before it left, and the less it follows the samples at hand.
DAMPINGS = {"damping 0.01": 0.01, "damping 0.1": 0.1, "damping 1": 1.0}
HEAVY = {"damping 4": 4.0, "damping 16": 16.0}
HESSIAN = (KEEP, BIAS, SYMMETRIC, *DAMPINGS)
LEAST_BOUND_FIRST = (SYMMETRIC, *reversed(DAMPINGS | HEAVY))
ONLY_BIAS = (KEEP, BIAS)
PROBE = "damping 0.1"
# At another position one candidate within so much of the least error at the own one makes the others worth a trial.
NEAR = 1.2


@dataclass(frozen=True)
class Constants:
    """Weights of a layer in their own shape, as codes and as values, and its bias, if it has one."""

    codes: NDArray[np.int64]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32] | None


@dataclass(frozen=True)
class Problem:
    """One layer: what it is in float, where it may go, and what it is now.

    ``moves`` are the positions, from where it is, that its weights may take instead.
    """

    layer: Layer
    weights: NDArray[np.float32]
    bias: NDArray[np.float32] | None
    grid: Grid
    bias_grid: Grid | None
    now: Constants
    moves: tuple[int, ...] = ()

    def moved(self, positions: int) -> Problem:
        """The problem on a grid whose steps are 2^-positions as large."""
        return replace(self, grid=self.grid.moved(positions), moves=()) if positions else self


@dataclass(frozen=True)
class Inputs:
    """Columns [group, K, column] of a layer's input, float and quantized."""

    x_f: NDArray[np.float32]
    x_q: NDArray[np.float32]


@dataclass(frozen=True)
class Choice:
    """The candidate taken, its held-out error and that of the layer as it was (mean squares of the output).

    ``moved`` says by how many positions its weights moved.
    """

    name: str
    constants: Constants
    error: float
    before: float
    moved: int = 0


def choose(
    problem: Problem,
    moments: Moments,
    held: Sequence[Inputs],
    names: Sequence[str] = HESSIAN,
    of_all: Callable[[], Moments] | None = None,
) -> Choice:
    """The best of the named candidates on samples that none has seen; ``keep`` where none is better.

    One of them is tried at the problem's other positions too, and all where it comes near.

    On a coarse grid errors grow from layer to layer until what mends them fits the samples at hand alone. There heavier
    damping is tried too, the least bound of those alike is taken, and it is found anew by the moments ``of_all``
    samples, those held out included. With 8 bits all of that gains nothing (tests/zoo/README.md).
    """
    layer = problem.layer
    targets = [outputs_of(layer, problem.weights, problem.bias, each.x_f) for each in held]

    def tried(name: str, constants: Constants, moved: int = 0) -> float:
        errors = [
            _error(target, outputs_of(layer, constants.weights, constants.bias, each.x_q))
            for target, each in zip(targets, held, strict=True)
        ]
        found.append(Trial(name, moved, np.asarray(errors)))
        return found[-1].error

    def least(names: Sequence[str], moved: int = 0) -> float:
        candidates = _candidates(problem.moved(moved), moments, names)
        return min((tried(name, constants, moved) for name, constants in candidates), default=math.inf)

    coarse, found = problem.grid.is_coarse, list[Trial]()
    if coarse and PROBE in names:
        names = (*names, *HEAVY)
    tried(KEEP, problem.now)
    own = least(names)
    rest = [name for name in names if name not in (*ONLY_BIAS, PROBE)]
    for moved in problem.moves if PROBE in names else ():
        if least((PROBE,), moved) < NEAR * own:
            least(rest, moved)
    best = least_bound(found, LEAST_BOUND_FIRST if coarse else ())
    constants = problem.now
    if best.name != KEEP:
        known = of_all() if coarse and of_all is not None else moments
        [(_, constants)] = _candidates(problem.moved(best.moved), known, (best.name,))
    return Choice(best.name, constants, best.error, found[0].error, best.moved)


def _candidates(problem: Problem, moments: Moments, names: Sequence[str]) -> Iterator[tuple[str, Constants]]:
    if BIAS in names and problem.bias is not None:
        yield BIAS, _recentred(problem, moments, problem.now.codes, problem.now.weights)
    layer, grid, shape = problem.layer, problem.grid, problem.layer.shape
    steps, zeros = layer.rows(grid.steps(shape)), layer.rows(grid.zeros(shape))
    lattice = Lattice(steps, grid.low - zeros, grid.high - zeros)
    w = layer.rows(problem.weights).astype(moments.h.dtype)
    for name in names:
        if name == SYMMETRIC:
            quadratic = damped(w, moments.h, moments.h, min(DAMPINGS.values()))
        elif (damping := (DAMPINGS | HEAVY).get(name)) is not None:
            quadratic = damped(w, moments.h, moments.a, damping)
        else:
            continue
        whole = solve(quadratic, lattice, layer.rows(problem.now.weights))
        codes = np.ascontiguousarray(layer.constant_of(whole + zeros))
        yield name, _recentred(problem, moments, codes, grid.values(codes))


def _recentred(problem: Problem, moments: Moments, codes: NDArray[np.int64], weights: NDArray[np.float32]) -> Constants:
    if problem.bias is None:
        return Constants(codes, weights, None)
    wanted = np.einsum("gmk,gk->gm", problem.layer.rows(problem.weights).astype(np.float64), moments.mean_f)
    found = np.einsum("gmk,gk->gm", problem.layer.rows(weights).astype(np.float64), moments.mean_q)
    bias = (problem.bias + (wanted - found).reshape(problem.bias.shape)).astype(np.float32)
    if problem.bias_grid is not None:
        bias = problem.bias_grid.covering(bias).rounded(bias)
    return Constants(codes, weights, bias)


def outputs_of(
    layer: Layer, weights: NDArray[np.float32], bias: NDArray[np.float32] | None, x: NDArray[np.float32]
) -> NDArray[np.float32]:
    """What the layer gives from columns x [group, K, column]: [group, output, column]."""
    y: NDArray[np.float32] = layer.rows(weights) @ x
    return y if bias is None else y + bias.reshape(y.shape[0], y.shape[1], 1)


def _error(wanted: NDArray[np.float32], found: NDArray[np.float32]) -> float:
    return float(np.mean(np.square(wanted - found), dtype=np.float64))
