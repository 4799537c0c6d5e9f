"""FixNeuron: one node that quantizes and dequantizes, with its position and bit width as text attributes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import (
    Configuration,
    Format,
    Multiples,
    PairWriter,
    QType,
    TensorPlan,
    UnsupportedError,
    VitisQuantFormat,
    attribute,
    scale_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto


class FixNeuronWriter(PairWriter):
    """q = clip(round(x / s) + z, -128, 127), y = (q - z) s; weights and biases stay float before their FixNeuron."""

    quantize_op = dequantize_op = "FixNeuron"
    is_one_node = True
    power_of_two_scales = True
    takes_float16 = False
    keeps_stored_codes = has_zero_points = has_blocks = False
    needs_native_pairs = True
    owns_parameters = True
    ignores = frozenset({"AddQDQPairToWeight", "QDQDisableWeightAdjustForInt32Bias", "UseQDQContribOps"})

    def domain(self, kind: QType) -> str:
        return "ai.onnx.contrib"

    def has_product_bias(self, weight: QType) -> bool:
        return False

    @classmethod
    def constant_grid(cls, node: NodeProto, array: NDArray[np.float32]) -> Multiples | None:
        if node.op_type != cls.quantize_op:
            return None
        half = 1 << int(attribute(node, "bit_width", b"8")) - 1
        step = np.asarray(scale_of(int(attribute(node, "pos", b"0"))), np.float32)
        return Multiples(step, -half, half - 1)

    def attributes(self, planned: TensorPlan, *, dequantize: bool) -> Mapping[str, object]:
        """Bit width and position of the one node.

        Raises:
            UnsupportedError: the tensor has not one power-of-two scale.
        """
        if planned.position is None:
            raise UnsupportedError(
                f"FixNeuron needs one power-of-two scale for the tensor, but {planned.name} has {planned.scale}; "
                "leave out per_channel and scale overrides, or use VitisQuantFormat.QDQ"
            )
        return {"bit_width": str(planned.kind.bits), "pos": str(planned.position)}


def check_channels(settings: Configuration) -> None:
    """One position holds for all channels.

    Raises:
        UnsupportedError: the call asks for channels.
    """
    if settings.request.per_channel:
        raise UnsupportedError(
            "FixNeuron has one position for all channels, so per_channel=True cannot be written; use "
            "per_channel=False, with include_cle=True, or VitisQuantFormat.QDQ"
        )


def _accepts(kind: QType) -> bool:
    return kind.name == "QInt8"


FIX_NEURON = Format(
    VitisQuantFormat.FixNeuron,
    "FixNeuron nodes of ai.onnx.contrib, int8.",
    FixNeuronWriter,
    _accepts,
    check=check_channels,
)
