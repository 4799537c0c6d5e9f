"""Eight distributions of a tensor's values, from bell-shaped to a lattice."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Rng = np.random.Generator

DISTRIBUTIONS: dict[str, Callable[[Rng, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "relu": lambda rng, n: np.maximum(rng.standard_normal(n) * 3, 0),
    "laplace": lambda rng, n: rng.laplace(0.3, 0.02, n),
    "uniform": lambda rng, n: rng.uniform(-1, 5, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 2, n),
    "sigmoid": lambda rng, n: 1 / (1 + np.exp(-5 * rng.standard_normal(n))),
    "two scales": lambda rng, n: np.where(rng.random(n) < 0.99, 1e-3, 50.0) * rng.standard_normal(n),
    "lattice": lambda rng, n: rng.integers(-100, 100, n) * 2.0**-5,
}


def data(name: str, seed: int, size: int = 4000) -> np.ndarray:
    """Values of one of them, the same for the same seed."""
    return DISTRIBUTIONS[name](np.random.default_rng(seed), size).astype(np.float32)
