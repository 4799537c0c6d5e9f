"""A bound as a table: its excess at every combination of positions of its tensors."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..plan import Bound, Combination, Constant, Expression, Extreme, Position

if TYPE_CHECKING:
    from collections.abc import Mapping

Integers = NDArray[np.int64]


def on_grid(expression: Expression, grid: Mapping[str, Integers]) -> Integers | None:
    """What ``expression.value`` gives, for arrays of positions that broadcast against each other."""
    if isinstance(expression, Position):
        return None if expression.name is None else grid.get(expression.name)
    if isinstance(expression, Constant):
        return np.asarray(expression.number)
    if isinstance(expression, Combination):
        left, right = on_grid(expression.left, grid), on_grid(expression.right, grid)
        return None if left is None or right is None else left + expression.sign * right
    if isinstance(expression, Extreme) and expression.pick in (min, max):
        known = [value for part in expression.parts if (value := on_grid(part, grid)) is not None]
        return reduce(np.minimum if expression.pick is min else np.maximum, known) if known else None
    return _one_by_one(expression, grid)


def _one_by_one(expression: Expression, grid: Mapping[str, Integers]) -> Integers | None:
    """The same for an expression of another kind, which can only be asked for one combination at a time."""
    names = [name for name in expression.variables if name in grid]
    arrays = np.broadcast_arrays(*(grid[name] for name in names))
    rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    values = [expression.value(dict(zip(names, row, strict=True))) for row in rows]
    return None if not values or None in values else np.array(values).reshape(arrays[0].shape)


def excess(bound: Bound, grid: Mapping[str, Integers]) -> Integers:
    """The magnitude of ``bound.excess``, for arrays of positions."""
    value = on_grid(bound.expression, grid)
    low, high = _limit(bound.low, grid), _limit(bound.high, grid)
    below = 0 if value is None or low is None else np.maximum(low - value, 0)
    above = 0 if value is None or high is None else np.maximum(value - high, 0)
    # Bound.excess asks for the lower limit first; where limits cross, so does this.
    return np.asarray(np.where(np.asarray(below) > 0, below, above))


def _limit(limit: Expression | int | None, grid: Mapping[str, Integers]) -> Integers | None:
    if isinstance(limit, Expression):
        return on_grid(limit, grid)
    return None if limit is None else np.asarray(limit)
