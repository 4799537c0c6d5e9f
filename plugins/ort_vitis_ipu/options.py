"""The two switches that other switches of this plugin depend on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import OptionGroup, option


class IpuOptions(OptionGroup):
    """What the NPU targets do beside quantizing."""

    ipu_limitation_check: bool = option(
        True,
        "Keep positions within what the NPU can shift.",
        key="IPULimitationCheck",
        aliases=("NPULimitationCheck",),
        targets=("ipu_cnn",),
    )
    simulate_dpu: bool = option(
        True,
        "Let the float graph compute approximated operations as the DPU does.",
        key="SimulateDPU",
        targets=("ipu_cnn",),
    )
