"""The NPU's CNN flow: shifts in place of multiplications, so every scale is a power of two."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import (
    PowerOfTwoMethod,
    QuantFormat,
    QuantType,
    Target,
    UnsupportedError,
    VitisQuantFormat,
    qtype,
)

from .op_types import DPU
from .placement import placement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ort_vitis_plugin.api import Run

INT8 = qtype(QuantType.QInt8)


def _refusals(run: Run) -> Iterator[tuple[str, str]]:
    """What the device cannot do and the nearest thing that works, most basic first."""
    if not run.method.power_of_two or run.options.get("Int16Scale"):
        asked = "Int16Scale=True" if run.method.power_of_two else f"calibrate_method={run.method.key}"
        yield (
            f"{asked} gives scales that are no powers of two, and the NPU's CNN engine can only shift",
            'use PowerOfTwoMethod.MinMSE or NonOverflow, or Target="ipu_transformer" for float scales',
        )
    if run.request.per_channel:
        yield "per_channel=True: the NPU has one shift for all channels", "use per_channel=False, with include_cle=True"
    if run.request.reduce_range:
        yield "reduce_range=True: the NPU's accumulator needs no spare bit", "use reduce_range=False"
    wide_allowed = run.format.key == VitisQuantFormat.QDQ
    if run.weight != INT8 and not (wide_allowed and run.weight.is_wide):
        yield (
            f"weight_type={run.weight}: the NPU's weights are signed 8-bit integers",
            "use QuantType.QInt8"
            + (", or a wide type to try its accuracy off the NPU" if wide_allowed else ", or VitisQuantFormat.QDQ"),
        )
    if not run.options["ActivationSymmetric"]:
        yield "ActivationSymmetric=False: the NPU has no zero points", "leave it out or set it to True"
    if run.options["WeightSymmetric"] is False:
        yield "WeightSymmetric=False: the NPU has no zero points", "set it to True"
    if not run.options["QuantizeBias"]:
        yield "QuantizeBias=False: the NPU's biases are 8-bit integers", "set it to True"
    if run.options["QDQOpTypePerChannelSupportToAxis"]:
        yield "QDQOpTypePerChannelSupportToAxis: the NPU has one shift for all channels", "set it to {}"


def check(run: Run) -> None:
    """Raise for what the device cannot do; note where its rules do not apply."""
    for reason, instead in _refusals(run):
        raise UnsupportedError(f"target ipu_cnn (enable_dpu) does not take {reason}; {instead}")
    if run.weight.is_wide or run.activation.is_wide:
        run.report.note(
            f"activations {run.activation} and weights {run.weight} do not run on the NPU's 8-bit engine: "
            "its rules on positions are off"
        )


IPU_CNN = Target(
    "ipu_cnn",
    "CNNs on the Ryzen AI NPU (enable_dpu): power-of-two scales, 8-bit biases, positions within the DPU's shifts.",
    presets={
        "calibrate_method": PowerOfTwoMethod.MinMSE,
        "ActivationSymmetric": True,
        "WeightSymmetric": True,
    },
    recommended={
        "quant_format": QuantFormat.QDQ,
        "calibrate_method": PowerOfTwoMethod.MinMSE,
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
    },
    op_types=DPU,
    bias_as_weight=True,
    check=check,
    placement=placement,
)
