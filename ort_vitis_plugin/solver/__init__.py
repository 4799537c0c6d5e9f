"""Hardware rules bound positions; of all positions within the bounds, those of least squared error are taken."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .adjust import adjust_plan
from .solve import Solution, solve

__all__ = ["Solution", "adjust_plan", "solve"]
