"""How far, and where, equalization goes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Literal

from ort_vitis_plugin.api import OptionGroup, option


class EqualizationOptions(OptionGroup):
    """Options of cross-layer equalization (``include_cle``)."""

    steps: int = option(
        1,
        "Sweeps over all pairs of layers; -1: until the weights settle.",
        key="CLESteps",
        needs="IncludeCLE",
        check=lambda steps: steps == -1 or steps >= 1,
    )
    total_layer_diff_threshold: float = option(
        2e-7,
        "CLESteps -1 stops when the layers' mean absolute weight changes of a sweep sum to no more than this.",
        key="CLETotalLayerDiffThreshold",
        needs="IncludeCLE",
        check=lambda limit: limit >= 0,
    )
    scale_append_bias: bool = option(
        True, "Let biases count in the range of a layer's channels.", key="CLEScaleAppendBias", needs="IncludeCLE"
    )
    scale_use_threshold: bool = option(
        True, "Leave channels alone whose weights are small.", key="CLEScaleUseThreshold", needs="IncludeCLE"
    )
    weight_threshold: float = option(
        0.5,
        "A channel is small when the ranges of the pair's two layers sum to less than this.",
        key="CLEWeightThreshold",
        needs="CLEScaleUseThreshold",
        check=lambda limit: limit >= 0,
    )
    through_clip: bool = option(
        False,
        "Let factors pass a Clip from 0 to a limit (ReLU6), as far as it acts on none of the samples.",
        key="CLEThroughClip",
        needs="IncludeCLE",
    )
    objective: Literal["range", "error"] = option(
        "range",
        "By what factors are chosen: the range of channels, pair by pair; or then also the least error of rounded "
        "weights at the outputs of layers over samples, through Add too and through a Clip as far as it does not act "
        "(needs one scale per tensor, and samples that can be read twice).",
        key="CLEObjective",
        needs="IncludeCLE",
    )
