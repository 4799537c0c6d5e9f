"""The float graph, made easier to quantize: what exporters left is settled, batch norms fold, layers equalize."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, hookimpl


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    """In the order in which they run."""
    from .bn_to_conv import bn_to_conv
    from .cle.equalize import equalize
    from .cle.options import EqualizationOptions
    from .clip6_to_relu import clip6_to_relu
    from .clip_to_relu import clip_to_relu
    from .convert_fp16_to_fp32 import fp16_to_fp32
    from .convert_nchw_to_nhwc import nchw_to_nhwc
    from .float_far_output import float_far_output
    from .float_spectrum import float_spectrum
    from .fold_batch_norm import fold_batch_norm
    from .fuse_instance_norm import fuse_instance_norm
    from .fuse_l2_norm import fuse_l2_norm
    from .normalize import DECLARATIONS
    from .reduce_mean_to_pool import reduce_mean_to_pool
    from .remove_input_init import remove_input_init
    from .split_large_pool import split_large_pool
    from .split_to_slice import split_to_slice

    yield remove_input_init
    yield fp16_to_fp32
    yield from DECLARATIONS
    yield nchw_to_nhwc
    yield clip6_to_relu
    yield fuse_instance_norm
    yield fuse_l2_norm
    yield float_spectrum
    yield fold_batch_norm
    yield bn_to_conv
    yield EqualizationOptions
    yield equalize
    yield reduce_mean_to_pool
    yield split_large_pool
    yield split_to_slice
    yield clip_to_relu
    yield float_far_output
