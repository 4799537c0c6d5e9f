"""What a plugin's rounding makes of the best candidate is taken output by output, where samples held out confirm it.

error = E |clip(W x_f + b) - clip(Q x_q + b')|^2, with the limits of the activation behind the layer
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import CLAMP_OPS, LayerProblem, clip_bounds

from .candidates import Choice, Constants, Inputs, Problem, outputs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ort_vitis_plugin.api import Graph, WeightRounding

    from .layer import Layer
    from .settings import FinetuneSettings

Limits = tuple[float, float]


def activation_behind(graph: Graph, layer: Layer) -> Limits:
    """What a Relu or a Clip, the only reader of the layer's result, lets through."""
    end = layer.bias_node or layer.node
    reader = graph.sole_consumer(end.output[0])
    if reader is None or reader.op_type not in CLAMP_OPS:
        return -math.inf, math.inf
    low, high = clip_bounds(graph, reader) if reader.op_type == "Clip" else (0.0, None)
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def improved(
    rounding: WeightRounding,
    settings: FinetuneSettings,
    problem: Problem,
    choice: Choice,
    learned: Inputs,
    held: Inputs,
    activation: Limits,
) -> Choice:
    """The choice with those outputs whose weights and bias ``rounding`` made better."""
    layer, shape, grid = problem.layer, problem.layer.shape, problem.grid
    zeros, start = layer.rows(grid.zeros(shape)), choice.constants
    weights = layer.rows(problem.weights)

    def by_row(bias: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        return None if bias is None else bias.reshape(weights.shape[:2])

    asked = LayerProblem(
        weights,
        by_row(problem.bias),
        learned.x_f,
        learned.x_q,
        layer.rows(grid.steps(shape)),
        grid.low - zeros,
        grid.high - zeros,
        layer.rows(start.codes) - zeros,
        by_row(start.bias),
        activation,
        settings.seed,
    )
    whole, moved = rounding.solve(asked, dict(settings.parameters))
    codes = np.clip(np.asarray(whole, np.int64), asked.least, asked.most) + zeros
    found = _constants(problem, codes, by_row(start.bias) if moved is None else moved)
    before, after = (_errors(problem, each, held, activation) for each in (start, found))
    nearer = after < before
    if not nearer.any():
        return choice
    mixed = np.where(nearer[:, :, None], codes, layer.rows(start.codes))
    bias = old = by_row(start.bias)
    if old is not None and found.bias is not None:
        bias = np.where(nearer, found.bias.reshape(old.shape), old)
    taken = _constants(problem, mixed, bias)
    error = _errors(problem, taken, held, activation)
    if not error.sum() < before.sum():
        return choice
    return Choice(rounding.key, taken, float(error.mean()), choice.before, choice.moved)


def _constants(problem: Problem, codes: NDArray[np.int64], bias: NDArray[np.float32] | None) -> Constants:
    """Codes and bias by row as the layer's constants; the bias on its grid."""
    whole = np.ascontiguousarray(problem.layer.constant_of(codes))
    weights = problem.grid.values(whole)
    if bias is None or problem.bias is None:
        return Constants(whole, weights, None)
    bias = bias.reshape(problem.bias.shape).astype(np.float32)
    if problem.bias_grid is not None:
        bias = problem.bias_grid.covering(bias).rounded(bias)
    return Constants(whole, weights, bias)


def _errors(problem: Problem, constants: Constants, held: Inputs, activation: Limits) -> NDArray[np.float64]:
    """The mean square by output [group, output]."""
    wanted = outputs_of(problem.layer, problem.weights, problem.bias, held.x_f)
    found = outputs_of(problem.layer, constants.weights, constants.bias, held.x_q)
    off = np.clip(wanted, *activation) - np.clip(found, *activation)
    errors: NDArray[np.float64] = np.mean(np.square(off), axis=2, dtype=np.float64)
    return errors
