"""What each network of the zoo is, and the manual's recommended configurations for its kind."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin.numerics.qtypes import PowerOfTwoMethod

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx

# Networks that the manual's transformer configuration is meant for; all others count as CNNs.
TRANSFORMERS = frozenset({"fmnist_vit", "minilm"})

NPU_CNN: dict[str, Any] = {
    "quant_format": QuantFormat.QDQ,
    "calibrate_method": PowerOfTwoMethod.MinMSE,
    "activation_type": QuantType.QUInt8,
    "weight_type": QuantType.QInt8,
    "enable_dpu": True,
    "extra_options": {"ActivationSymmetric": True},
}
NPU_CLE: dict[str, Any] = {**NPU_CNN, "include_cle": True}
NPU_CLE_CLIP6: dict[str, Any] = {**NPU_CLE, "extra_options": {"ActivationSymmetric": True, "ReplaceClip6Relu": True}}
NPU_CORRECTED: dict[str, Any] = {**NPU_CLE, "extra_options": {"ActivationSymmetric": True, "BiasCorrection": True}}
NPU_TRANSFORMER: dict[str, Any] = {
    "quant_format": QuantFormat.QDQ,
    "calibrate_method": CalibrationMethod.MinMax,
    "activation_type": QuantType.QInt8,
    "weight_type": QuantType.QInt8,
    "extra_options": {"Target": "ipu_transformer"},
}
CPU: dict[str, Any] = {
    "quant_format": QuantFormat.QDQ,
    "calibrate_method": CalibrationMethod.MinMax,
    "activation_type": QuantType.QUInt8,
    "weight_type": QuantType.QInt8,
    "extra_options": {"Target": "cpu"},
}
CPU_PER_CHANNEL: dict[str, Any] = {**CPU, "per_channel": True}
CPU_CORRECTED: dict[str, Any] = {**CPU_PER_CHANNEL, "extra_options": {"Target": "cpu", "BiasCorrection": True}}

# Those that cost most, and the preset that does without: run where --finetuned asks for them.
FINETUNED: dict[str, dict[str, Any]] = {
    "NPU, preset": {"extra_options": {"Preset": "XINT8"}},
    "NPU, fine-tuned": {"extra_options": {"Preset": "XINT8_BEST"}},
    "4 bits, fine-tuned": {"extra_options": {"Preset": "A8W4"}},
}

BLOCKS = ("BFP16", "BF16_BFP16", "MX9", "MX6", "MXINT8", "MXFP8", "MXFP4")

CONFIGURATIONS: Mapping[str, dict[str, Any]] = {
    "NPU": NPU_CNN,
    "NPU, CLE": NPU_CLE,
    "NPU, CLE, no Clip6": NPU_CLE_CLIP6,
    "NPU, CLE, bias correction": NPU_CORRECTED,
    "NPU transformer": NPU_TRANSFORMER,
    "CPU": CPU,
    "CPU per channel": CPU_PER_CHANNEL,
    "CPU per channel, bias correction": CPU_CORRECTED,
    **{preset: {"extra_options": {"Preset": preset}} for preset in BLOCKS},
}
CPU_KEYS = [key for key in CONFIGURATIONS if key.startswith("CPU")]


def of(name: str, model: onnx.ModelProto, *, finetuned: bool = False) -> dict[str, dict[str, Any]]:
    """The configurations to run for one network: its NPU flow with its variants, and those of the CPU."""
    wanted = ["NPU transformer"] if name in TRANSFORMERS else ["NPU", "NPU, CLE", "NPU, CLE, bias correction"]
    if name not in TRANSFORMERS and any(node.op_type == "Clip" for node in model.graph.node):
        wanted.append("NPU, CLE, no Clip6")
    found = {key: dict(CONFIGURATIONS[key]) for key in (*wanted, *CPU_KEYS, *BLOCKS)}
    if finetuned and name not in TRANSFORMERS:
        found.update({key: dict(arguments) for key, arguments in FINETUNED.items()})
    if any(value.type.tensor_type.elem_type == 10 for value in model.graph.input):
        for arguments in found.values():
            arguments["convert_fp16_to_fp32"] = True
    return found
