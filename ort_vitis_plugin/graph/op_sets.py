"""Operators that compute nothing: each value of the output is a value of the input."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

# Other shapes of the same values in the same order.
RESHAPES = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten"})

# Some of the values of one input, in any order and number.
MOVES = RESHAPES | {"Transpose", "Slice", "Split", "Gather", "Expand", "Tile", "Identity"}
