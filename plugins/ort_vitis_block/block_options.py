"""How block formats are written."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import OptionGroup, option


class BlockOptions(OptionGroup):
    """Options of VitisQuantFormat.BFPFixNeuron and MXFixNeuron."""

    fold_constant_blocks: bool = option(
        False, "Block formats: store weights rounded to their blocks once, and leave the operator behind them out."
    )
    use_quark_ops: bool = option(
        False, "Block formats: write the custom operators under AMD Quark's names, in the domain com.amd.quark."
    )
    lone_elements_as_bfloat16: bool = option(
        True,
        "Block formats of 8 bits: write tensors in bfloat16 whose blocks would have one element each, and that no "
        "reader sums over: it takes as many bits and holds one more of the value.",
    )
