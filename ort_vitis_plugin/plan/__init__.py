"""What will be quantized, and how: tensors, their parameters, who shares with whom, and bounds on positions."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .bounds import Bound, Combination, Constant, Expression, Extreme, Position, largest, least
from .plan import Move, Plan
from .tensor import Conversion, Curve, Int32Bias, Role, TensorPlan

__all__ = [
    "Bound",
    "Combination",
    "Constant",
    "Conversion",
    "Curve",
    "Expression",
    "Extreme",
    "Int32Bias",
    "Move",
    "Plan",
    "Position",
    "Role",
    "TensorPlan",
    "largest",
    "least",
]
