"""The float graph, made easier to quantize: what exporters left is settled, batch norms fold, layers equalize."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, hookimpl


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    """In the order in which they run."""
    from .cle.equalize import equalize
    from .cle.options import EqualizationOptions
    from .convert.clip6_to_relu import clip6_to_relu
    from .convert.fp16_to_fp32 import fp16_to_fp32
    from .convert.nchw_to_nhwc import nchw_to_nhwc
    from .fold.fold_batch_norm import fold_batch_norm
    from .leave_float.angles import float_angles
    from .leave_float.decisions import float_decisions
    from .leave_float.dilated_pools import float_dilated_pools
    from .leave_float.far_output import float_far_output
    from .leave_float.final_softmax import float_final_softmax
    from .leave_float.spectrum import float_spectrum
    from .normalize import DECLARATIONS
    from .normalize.remove_input_init import remove_input_init

    yield remove_input_init
    yield fp16_to_fp32
    yield from DECLARATIONS
    yield nchw_to_nhwc
    yield clip6_to_relu
    yield float_spectrum
    yield float_decisions
    yield float_dilated_pools
    yield float_final_softmax
    yield fold_batch_norm
    yield EqualizationOptions
    yield equalize
    yield float_far_output
    yield float_angles
