"""The float graph takes the forms that the DPU has: pools for means, slices for splits, one Conv for a lone norm."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .bn_to_conv import bn_to_conv
from .clip_to_relu import clip_to_relu
from .fuse_instance_norm import fuse_instance_norm
from .fuse_l2_norm import fuse_l2_norm
from .reduce_mean_to_pool import reduce_mean_to_pool
from .split_large_pool import split_large_pool
from .split_to_slice import split_to_slice

PREPARATION = (
    fuse_instance_norm,
    fuse_l2_norm,
    bn_to_conv,
    reduce_mean_to_pool,
    split_large_pool,
    split_to_slice,
    clip_to_relu,
)
