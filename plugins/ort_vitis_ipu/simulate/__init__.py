"""Float operations as the DPU computes them, in the order in which the original applies them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import Transform

SIMULATION: list[Transform] = []
