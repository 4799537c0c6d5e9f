"""Block formats: numbers that share an exponent, as AMD's BFP16 and MX9 and as the Open Compute MX types."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .block_types import BLOCK_TYPES, BlockType
from .functions import add_block_functions
from .numpy_reference import block_floating_point, microscaling

__all__ = ["BLOCK_TYPES", "BlockType", "add_block_functions", "block_floating_point", "microscaling"]
