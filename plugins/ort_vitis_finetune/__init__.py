"""Fine-tuning without training: weights are rounded for the error of their layer's output, biases follow the means."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, hookimpl

from .bias_correction import BIAS_CORRECTION
from .candidates import HESSIAN, ONLY_BIAS
from .finetune import finetune
from .finetune_plan import FAST_FINETUNE
from .finetuned import Finetuned, LayerResult
from .grid import Grid
from .presets import PRESETS
from .settings import FinetuneSettings
from .simulation import Simulation, simulation_of

__all__ = [
    "HESSIAN",
    "ONLY_BIAS",
    "FinetuneSettings",
    "Finetuned",
    "Grid",
    "LayerResult",
    "Simulation",
    "finetune",
    "simulation_of",
]


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield FAST_FINETUNE
    yield BIAS_CORRECTION
    yield from PRESETS
