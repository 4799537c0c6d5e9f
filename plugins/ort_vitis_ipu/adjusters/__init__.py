"""The DPU's limits on positions, one file per rule, in the order in which the original applies them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .align_concat import align_concat
from .align_pool import align_pool
from .hard_sigmoid import hard_sigmoid_bounds
from .shift_bias import shift_bias
from .shift_cut import shift_cut
from .shift_read import shift_read
from .shift_swish import shift_swish
from .shift_write import shift_write

ADJUSTERS = [shift_read, shift_write, shift_cut, shift_bias, hard_sigmoid_bounds, shift_swish, align_concat, align_pool]
