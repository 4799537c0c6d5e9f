"""onnxruntime's own formats, calibration methods, operator handlers and options: the defaults of everything."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, hookimpl

from .calibrators import DISTRIBUTION, ENTROPY, MIN_MAX, PERCENTILE
from .formats import QDQ, QOPERATOR
from .operators import op_quantizers
from .options import UpstreamOptions
from .target import CPU_PRESET, cpu


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield UpstreamOptions
    yield cpu()
    yield CPU_PRESET
    yield QDQ
    yield QOPERATOR
    yield MIN_MAX
    yield ENTROPY
    yield PERCENTILE
    yield DISTRIBUTION
    yield from op_quantizers()
