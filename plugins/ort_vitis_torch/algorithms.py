"""AdaQuant and AdaRound are OptimAlgorithms of FastFinetune, in the ONNX flow too; torch is imported when one runs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from ort_vitis_plugin.api import LayerProblem, WeightRounding

INSTALL = 'pip install "ort-vitis-plugin[torch]"'


def _missing() -> str | None:
    return None if importlib.util.find_spec("torch") else f"it trains with PyTorch: {INSTALL}"


def _adaquant(problem: LayerProblem, parameters: Mapping[str, float]) -> Any:
    from .rounding import adaquant

    return adaquant(problem, parameters)


def _adaround(problem: LayerProblem, parameters: Mapping[str, float]) -> Any:
    from .rounding import adaround

    return adaround(problem, parameters)


ADAQUANT = WeightRounding(
    "adaquant",
    "Weights and biases move by the gradient of the layer's error, from the best rounding without training.",
    _adaquant,
    {"NumIterations": 400, "BatchSize": 1024, "LearningRate": 0.03},
    _missing,
)
ADAROUND = WeightRounding(
    "adaround",
    "Whether a weight is rounded up or down is learned from the layer's error.",
    _adaround,
    {"NumIterations": 1000, "BatchSize": 1024, "LearningRate": 0.03},
    _missing,
)
