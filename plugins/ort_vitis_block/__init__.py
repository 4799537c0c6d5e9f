"""Block formats: numbers that share an exponent, as AMD's BFP16 and MX9 and as the Open Compute MX types."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, OpFunctions, hookimpl

from .block_options import BlockOptions
from .block_types import BLOCK_TYPES, BlockType
from .block_writer import BFP_FIX_NEURON, MX_FIX_NEURON, BlockWriter
from .float8 import E5M2, FLOAT8_MSE
from .float_sums import float_block_output, float_block_steps, float_block_sums
from .functions import add_block_functions
from .numpy_reference import block_floating_point, microscaling
from .op_attributes import BLOCK_OPS
from .presets import PRESETS
from .quantized_types import TYPES, BlockQType, quantized_type

__all__ = [
    "BLOCK_TYPES",
    "BlockQType",
    "BlockType",
    "BlockWriter",
    "add_block_functions",
    "block_floating_point",
    "microscaling",
    "quantized_type",
]

FUNCTIONS = OpFunctions(
    "BlockFunctions", "Definitions of the block ops under AMD's names, old and new.", BLOCK_OPS, add_block_functions
)


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield BlockOptions
    yield from TYPES
    yield E5M2
    yield FLOAT8_MSE
    yield BFP_FIX_NEURON
    yield MX_FIX_NEURON
    yield FUNCTIONS
    yield float_block_output
    yield float_block_sums
    yield float_block_steps
    yield from PRESETS
