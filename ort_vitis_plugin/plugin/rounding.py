"""A way to round the weights of a layer; FastFinetune offers it as an OptimAlgorithm beside those of its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class LayerProblem:
    """Find whole numbers n and a bias b' such that step * n in the quantized network gives what W gives in float.

        clip(W x_f + b, activation)  ~  clip((step * n) x_q + b', activation),   least <= n <= most

    W, n and what bounds n are [group, output, K], b and b' [group, output] (None: the layer has no bias), columns x_f
    and x_q [group, K, column]. ``start`` and ``start_bias`` are a solution, which is to be made better.
    """

    weights: NDArray[np.float32]
    bias: NDArray[np.float32] | None
    x_f: NDArray[np.float32]
    x_q: NDArray[np.float32]
    step: NDArray[np.float64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    start: NDArray[np.int64]
    start_bias: NDArray[np.float32] | None
    activation: tuple[float, float] = (-float("inf"), float("inf"))
    seed: int = 0


Solution = tuple["NDArray[np.int64]", "NDArray[np.float32] | None"]


@dataclass(frozen=True)
class WeightRounding:
    """``solve(problem, parameters)`` gives n and b'; where it does not come nearer on samples that it has not seen, the
    start stays, output by output.

    ``parameters`` are the keys of FastFinetune that it reads, and their defaults; whole numbers stay whole, and all are
    above 0. ``missing()`` says what is not installed that it needs, or None. Asked for by ``key``, whatever its case.
    """

    key: str
    doc: str
    solve: Callable[[LayerProblem, Mapping[str, float]], Solution]
    parameters: Mapping[str, float] = field(default_factory=dict)
    missing: Callable[[], str | None] = lambda: None
