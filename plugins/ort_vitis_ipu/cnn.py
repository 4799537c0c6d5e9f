"""The NPU's CNN flow: shifts in place of multiplications, so every scale is a power of two.

Source: the Vitis AI Quantizer for ONNX 1.16 manual, argument enable_dpu and its configuration for CNNs;
refused are combinations that models of that release never hold.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import (
    OrtOptions,
    PowerOfTwoMethod,
    Preset,
    QuantFormat,
    QuantType,
    Target,
    UnsupportedError,
    VitisQuantFormat,
    qtype,
)

from .op_types import ADDED, DPU
from .placement import placement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ort_vitis_plugin.api import Configuration, QType

INT8 = qtype(QuantType.QInt8)
BITS = 8


def _refusals(settings: Configuration) -> Iterator[tuple[str, str]]:
    """What the device cannot do and the nearest thing that works, most basic first."""
    scales = settings.scale_formats()
    if not settings.method.power_of_two or scales:
        asked = f"{scales[0].key}=True" if settings.method.power_of_two else f"calibrate_method={settings.method.key}"
        yield (
            f"{asked} gives scales that are no powers of two, and the NPU's CNN engine can only shift",
            'use PowerOfTwoMethod.MinMSE or NonOverflow, or Target="ipu_transformer" for float scales',
        )
    if settings.request.per_channel:
        yield "per_channel=True: the NPU has one shift for all channels", "use per_channel=False, with include_cle=True"
    if settings.request.reduce_range:
        yield "reduce_range=True: the NPU's accumulator needs no spare bit", "use reduce_range=False"
    wide_allowed = settings.format.key == VitisQuantFormat.QDQ
    if settings.weight != INT8 and not (wide_allowed and not computes(settings.weight)):
        yield (
            f"weight_type={settings.weight}: the NPU's weights are signed 8-bit integers",
            "use QuantType.QInt8"
            + (", or a wide type to try its accuracy off the NPU" if wide_allowed else ", or VitisQuantFormat.QDQ"),
        )
    asked_of_ort = settings.options[OrtOptions]
    if not asked_of_ort.activation_symmetric:
        yield "ActivationSymmetric=False: the NPU has no zero points", "leave it out or set it to True"
    if asked_of_ort.weight_symmetric is False:
        yield "WeightSymmetric=False: the NPU has no zero points", "set it to True"
    if not asked_of_ort.quantize_bias:
        yield "QuantizeBias=False: the NPU's biases are 8-bit integers", "set it to True"
    if asked_of_ort.qdq_op_type_per_channel_support_to_axis:
        yield "QDQOpTypePerChannelSupportToAxis: the NPU has one shift for all channels", "set it to {}"


def check(settings: Configuration) -> None:
    """Raise for what the device cannot do."""
    for reason, instead in _refusals(settings):
        raise UnsupportedError(f"target ipu_cnn (enable_dpu) does not take {reason}; {instead}")


def computes(kind: QType) -> bool:
    """The engine multiplies codes of at most 8 bits."""
    return kind.bits <= BITS


IPU_CNN = Target(
    "ipu_cnn",
    "CNNs on the Ryzen AI NPU (enable_dpu): power-of-two scales, 8-bit biases, positions within the DPU's shifts.",
    defaults={
        "calibrate_method": PowerOfTwoMethod.MinMSE,
        "ActivationSymmetric": True,
        "WeightSymmetric": True,
    },
    op_types=DPU | ADDED,
    computes=computes,
    bias_as_weight=True,
    own_parameters=True,
    check=check,
    placement=placement,
    keeps_opset=True,
    aliases=("npu_cnn",),
)

IPU_CNN_PRESET = Preset(
    "ipu_cnn",
    "The manual's configuration for CNNs on the NPU: uint8 by int8, power-of-two scales of least error.",
    arguments={
        "quant_format": QuantFormat.QDQ,
        "calibrate_method": PowerOfTwoMethod.MinMSE,
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
    },
    recipe={"Target": "ipu_cnn", "IncludeCLE": "auto"},
    aliases=("npu_cnn",),
)
