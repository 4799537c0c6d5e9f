"""From marked tensors to a plan: each tensor's parameters, the biases', and which pairs vanish."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .planner import Planner

__all__ = ["Planner"]
