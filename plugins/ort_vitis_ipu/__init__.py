"""AMD's NPU: its two targets, what it can shift, what it fuses, how it computes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, hookimpl

from .adjusters import ADJUSTERS
from .cnn import IPU_CNN, IPU_CNN_PRESET
from .fuse import FUSIONS
from .operators import OPERATORS
from .options import IpuOptions
from .prepare import PREPARATION
from .simulate import SIMULATION
from .transformer import IPU_TRANSFORMER, IPU_TRANSFORMER_PRESET


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield IpuOptions
    yield IPU_CNN
    yield IPU_TRANSFORMER
    yield IPU_CNN_PRESET
    yield IPU_TRANSFORMER_PRESET
    yield from OPERATORS
    yield from FUSIONS
    yield from PREPARATION
    yield from SIMULATION
    yield from ADJUSTERS
