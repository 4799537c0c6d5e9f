"""The graph as exporters leave it, settled: names, constants, opset, functions. One step per file."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import Declaration

from .constant_nodes import constant_nodes
from .decode_weights import decode_weights
from .drop_dilations import drop_dilations
from .fold_constants import fold_constants
from .fold_gemm_factors import fold_gemm_factors
from .inline_constant_if import inline_constant_if
from .inline_functions import INLINE_FUNCTIONS
from .move_codes import move_codes
from .name_nodes import name_nodes
from .raise_opset import RAISE_OPSET
from .remove_casts import remove_casts
from .remove_dropout import remove_dropout
from .remove_identity import remove_identity
from .remove_moves import remove_moves
from .remove_unread import remove_unread
from .rename_clashes import rename_clashes
from .trim_inputs import trim_inputs
from .unsigned_codes import unsigned_codes

DECLARATIONS: list[Declaration] = [
    INLINE_FUNCTIONS,
    RAISE_OPSET,
    inline_constant_if,
    name_nodes,
    remove_unread,
    trim_inputs,
    drop_dilations,
    constant_nodes,
    remove_identity,
    remove_dropout,
    remove_casts,
    fold_constants,
    move_codes,
    decode_weights,
    unsigned_codes,
    remove_moves,
    fold_gemm_factors,
    rename_clashes,
]
