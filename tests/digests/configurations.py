"""What a call may ask for: targets, formats, methods, types, options, and what onnxruntime asks alone."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType

from .case import Arguments

# Tensors of the demo's network: one that MaxPool reads, one that Conv reads, one that GlobalAveragePool reads.
SUM, PARTS, MIXED = "/Add_output_0", "/Concat_output_0", "/mix/mix.2/Clip_output_0"

METHODS = {
    "MinMSE": PowerOfTwoMethod.MinMSE,
    "NonOverflow": PowerOfTwoMethod.NonOverflow,
    "MinMax": CalibrationMethod.MinMax,
    "Percentile": CalibrationMethod.Percentile,
    "Entropy": CalibrationMethod.Entropy,
    "Distribution": CalibrationMethod.Distribution,
}
FORMATS = {
    "QDQ": QuantFormat.QDQ,
    "QOperator": QuantFormat.QOperator,
    "VitisQDQ": VitisQuantFormat.QDQ,
    "FixNeuron": VitisQuantFormat.FixNeuron,
}
TARGETS = ("cpu", "ipu_cnn", "ipu_transformer")
U8S8: Arguments = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
S8S8: Arguments = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8}
MINMAX: Arguments = {"calibrate_method": CalibrationMethod.MinMax}
MINMSE: Arguments = {"calibrate_method": PowerOfTwoMethod.MinMSE}
PERCENTILE: Arguments = {"calibrate_method": CalibrationMethod.Percentile}
CPU: Arguments = {**U8S8, **MINMAX}
NPU: Arguments = {**U8S8, "enable_dpu": True}


def with_options(arguments: Arguments, **options: Any) -> Arguments:
    """The arguments with more extra options."""
    return {**arguments, "extra_options": {**arguments.get("extra_options", {}), **options}}


CLE: Arguments = {**NPU, "include_cle": True}
TRANSFORMER: Arguments = with_options({**S8S8, **MINMAX}, Target="ipu_transformer")


def _types(activation: Any, weight: Any) -> Arguments:
    return {"activation_type": activation, "weight_type": weight}


def _vitis(activation: Any, weight: Any) -> Arguments:
    return {"quant_format": VitisQuantFormat.QDQ, **_types(activation, weight)}


# Every target with every format and every method that it takes; what it refuses, it refuses with the same words.
GRID: dict[str, Arguments] = {
    f"{target}, {format_name}, {method_name}": with_options(
        {
            **(S8S8 if format_name == "FixNeuron" or target == "ipu_transformer" else U8S8),
            "quant_format": FORMATS[format_name],
            "calibrate_method": METHODS[method_name],
        },
        Target=target,
    )
    for target in TARGETS
    for format_name in FORMATS
    for method_name in METHODS
}

TYPES: dict[str, Arguments] = {
    "A16W8": {**MINMAX, **_types(QuantType.QInt16, QuantType.QInt8)},
    "AU16W8": {**MINMAX, **_types(QuantType.QUInt16, QuantType.QInt8)},
    "A16W16": {**MINMAX, **_types(QuantType.QInt16, QuantType.QInt16)},
    "A16W8 on the NPU": {**NPU, **_types(QuantType.QInt16, QuantType.QInt8)},
    "A16W8 with contrib pairs": with_options(
        {**MINMAX, **_types(QuantType.QInt16, QuantType.QInt8)}, UseQDQContribOps=True
    ),
    "A8W4": {**MINMAX, **_types(QuantType.QInt8, QuantType.QInt4)},
    "AU8WU4": {**MINMAX, **_types(QuantType.QUInt8, QuantType.QUInt4)},
    "A8W4 per channel": {**MINMAX, **_types(QuantType.QInt8, QuantType.QInt4), "per_channel": True},
    "A8W4, MinMSE": {**MINMSE, **_types(QuantType.QInt8, QuantType.QInt4)},
    "AU8WU8": {**MINMAX, **_types(QuantType.QUInt8, QuantType.QUInt8)},
    "float8": {**MINMAX, **_types(QuantType.QFLOAT8E4M3FN, QuantType.QFLOAT8E4M3FN)},
    "float8, Distribution": {
        "calibrate_method": CalibrationMethod.Distribution,
        **_types(QuantType.QFLOAT8E4M3FN, QuantType.QFLOAT8E4M3FN),
    },
    "float8, VitisQDQ": {**MINMAX, **_vitis(QuantType.QFLOAT8E4M3FN, QuantType.QFLOAT8E4M3FN)},
    "VitisQDQ A8W8": _vitis(QuantType.QInt8, QuantType.QInt8),
    "VitisQDQ A16W16": _vitis(VitisQuantType.QInt16, VitisQuantType.QInt16),
    "VitisQDQ A16W16, MinMax": {**MINMAX, **_vitis(VitisQuantType.QInt16, VitisQuantType.QInt16)},
    "VitisQDQ AU16WU16": _vitis(VitisQuantType.QUInt16, VitisQuantType.QUInt16),
    "VitisQDQ A16W8": _vitis(VitisQuantType.QInt16, QuantType.QInt8),
    "VitisQDQ A32W32": _vitis(VitisQuantType.QInt32, VitisQuantType.QInt32),
    "VitisQDQ A32W32, MinMax": {**MINMAX, **_vitis(VitisQuantType.QInt32, VitisQuantType.QInt32)},
    "VitisQDQ AU32WU32": _vitis(VitisQuantType.QUInt32, VitisQuantType.QUInt32),
    "VitisQDQ float16": _vitis(VitisQuantType.QFloat16, VitisQuantType.QFloat16),
    "VitisQDQ bfloat16": _vitis(VitisQuantType.QBFloat16, VitisQuantType.QBFloat16),
    "VitisQDQ bfloat16 on the NPU": {**NPU, **_vitis(VitisQuantType.QBFloat16, VitisQuantType.QBFloat16)},
    "VitisQDQ A16W16 on the NPU": {**NPU, **_vitis(VitisQuantType.QInt16, VitisQuantType.QInt16)},
    "VitisQDQ A16W8 on the NPU": {**NPU, **_vitis(VitisQuantType.QInt16, QuantType.QInt8)},
    "VitisQDQ bfloat16 per channel": {
        **MINMAX,
        **_vitis(VitisQuantType.QBFloat16, VitisQuantType.QBFloat16),
        "per_channel": True,
    },
}

FLAGS: dict[str, Arguments] = {
    "documented default": {},
    "per channel": {**CPU, "per_channel": True},
    "per channel, QOperator": {**CPU, "per_channel": True, "quant_format": QuantFormat.QOperator},
    "per channel, MinMSE": {**S8S8, **MINMSE, "per_channel": True},
    "per channel on the NPU": {**NPU, "per_channel": True},
    "per channel, transformer": {**TRANSFORMER, "per_channel": True},
    "per channel, VitisQDQ": {**S8S8, **MINMAX, "per_channel": True, "quant_format": VitisQuantFormat.QDQ},
    "reduce range": {**CPU, "reduce_range": True},
    "reduce range, per channel": {**CPU, "reduce_range": True, "per_channel": True},
    "optimize_model off": {**CPU, "optimize_model": False},
    "optimize_model off on the NPU": {**NPU, "optimize_model": False},
    "convert_nchw_to_nhwc": {**CPU, "convert_nchw_to_nhwc": True},
    "convert_nchw_to_nhwc on the NPU": {**NPU, "convert_nchw_to_nhwc": True},
    "convert_fp16_to_fp32": {**CPU, "convert_fp16_to_fp32": True},
    "external data": {**NPU, "use_external_data_format": True},
    "NPU": NPU,
    "NPU, s8s8": {**NPU, **S8S8},
    "NPU, CLE": CLE,
    "NPU, CLE, bias correction": with_options(CLE, BiasCorrection=True),
    "CPU, bias correction": with_options(CPU, BiasCorrection=True),
    "CPU per channel, bias correction": with_options({**CPU, "per_channel": True}, BiasCorrection=True),
    "CPU, CLE": {**CPU, "include_cle": True},
    "NPU, CLE to the end, Clip6": with_options(CLE, CLESteps=-1, ReplaceClip6Relu=True),
    "Conv alone": {**CPU, "op_types_to_quantize": ["Conv"]},
    "input_nodes": {**CPU, "input_nodes": ["/shrink/MaxPool"]},
    "output_nodes on the NPU": {**NPU, "output_nodes": ["/Concat"]},
    "nodes_to_exclude": {**CPU, "nodes_to_exclude": ["/mix/mix.0/Conv"]},
    "nodes_to_quantize on the NPU": {**NPU, "nodes_to_quantize": ["/mix/mix.0/Conv", "/Add"]},
    "random samples": CPU,
}

OPTIONS: dict[str, Arguments] = {
    "ActivationSymmetric": with_options(CPU, ActivationSymmetric=True),
    "ActivationSymmetric, UseUnsignedReLU": with_options(
        {**S8S8, **MINMAX}, ActivationSymmetric=True, UseUnsignedReLU=True
    ),
    "WeightSymmetric off": with_options(CPU, WeightSymmetric=False),
    "QuantizeBias off": with_options(CPU, QuantizeBias=False),
    "QuantizeBias off on the NPU": with_options(NPU, QuantizeBias=False),
    "AddQDQPairToWeight": with_options(CPU, AddQDQPairToWeight=True),
    "AddQDQPairToWeight on the NPU": with_options(NPU, AddQDQPairToWeight=True),
    "DedicatedQDQPair": with_options(CPU, DedicatedQDQPair=True),
    "DedicatedQDQPair on the NPU": with_options(NPU, DedicatedQDQPair=True),
    "DedicatedQDQPair, VitisQDQ": with_options({**CPU, "quant_format": VitisQuantFormat.QDQ}, DedicatedQDQPair=True),
    "EnableSubgraph": with_options(CPU, EnableSubgraph=True),
    "ForceQuantizeNoInputCheck": with_options(CPU, ForceQuantizeNoInputCheck=True),
    "OpTypesToExcludeOutputQuantization": with_options(CPU, OpTypesToExcludeOutputQuantization=["Conv"]),
    "UseQDQVitisCustomOps off": with_options(
        {**S8S8, **MINMSE, "quant_format": VitisQuantFormat.QDQ}, UseQDQVitisCustomOps=False
    ),
    "CalibTensorRangeSymmetric": with_options(CPU, CalibTensorRangeSymmetric=True),
    "CalibMovingAverage": with_options(CPU, CalibMovingAverage=True, CalibMovingAverageConstant=0.05),
    "CalibPercentile": with_options({**CPU, **PERCENTILE}, CalibPercentile=99.0),
    "MinMSEMode": with_options(NPU, MinMSEMode="MostCommon"),
    "MinimumRealRange": with_options(CPU, MinimumRealRange=0.5),
    "Int16Scale": with_options(CPU, Int16Scale=True),
    "Int16Scale per channel": with_options({**CPU, "per_channel": True}, Int16Scale=True),
    "SmoothQuant": with_options(CPU, SmoothQuant=True),
    "Preprocess": with_options(CPU, Preprocess=True),
    "QDQKeepRemovableActivations": with_options(CPU, QDQKeepRemovableActivations=True),
    "QDQDisableWeightAdjustForInt32Bias": with_options(CPU, QDQDisableWeightAdjustForInt32Bias=True),
    "ConvertClipToRelu": with_options(NPU, ConvertClipToRelu=True),
    "ConvertSoftmaxToDPUVersion": with_options(NPU, ConvertSoftmaxToDPUVersion=True),
    "SimulateDPU off": with_options(NPU, SimulateDPU=False),
    "IPULimitationCheck off": with_options(NPU, IPULimitationCheck=False),
    "AlignConcat, AlignPool off": with_options(NPU, AlignConcat=False, AlignPool=False),
    "AdjustShiftCut, AdjustShiftBias off": with_options(NPU, AdjustShiftCut=False, AdjustShiftBias=False),
    "RemoveQDQConvRelu off": with_options(NPU, RemoveQDQConvRelu=False),
    "RemoveQDQConvLeakyRelu, RemoveQDQConvPRelu": with_options(
        NPU, RemoveQDQConvLeakyRelu=True, RemoveQDQConvPRelu=True
    ),
    "FoldBatchNorm, ConvertBNToConv off": with_options(NPU, FoldBatchNorm=False, ConvertBNToConv=False),
    "SelfCheck off": with_options(NPU, SelfCheck=False),
    "TensorQuantOverrides": with_options(
        CPU,
        TensorQuantOverrides={
            PARTS: [{"quant_type": QuantType.QInt8, "symmetric": True}],
            MIXED: [{"rmin": -1.0, "rmax": 3.0}],
        },
    ),
    "TensorQuantOverrides of a type in front of a MaxPool": with_options(
        CPU, TensorQuantOverrides={SUM: [{"quant_type": QuantType.QInt8}]}
    ),
    "TensorQuantOverrides of one scale": with_options(
        CPU, TensorQuantOverrides={SUM: [{"scale": np.float32(0.0625), "zero_point": np.uint8(128)}]}
    ),
    "TensorQuantOverrides to 16 bits and back": with_options(
        {**CPU, "quant_format": QuantFormat.QDQ},
        TensorQuantOverrides={
            PARTS: [{"quant_type": QuantType.QUInt16, "convert": {"quant_type": QuantType.QUInt8}}],
        },
    ),
    "TensorQuantOverrides on the NPU": with_options(
        NPU, TensorQuantOverrides={SUM: [{"scale": np.float32(0.25), "zero_point": np.uint8(128)}]}
    ),
    "TensorQuantOverrides of a tensor that is not there": with_options(
        CPU, TensorQuantOverrides={"no tensor": [{"symmetric": True}]}
    ),
    "an option that nobody knows": with_options(NPU, AdjustShiftcut=True),
    "a target that nobody knows": with_options(CPU, Target="ipu_cnm"),
}

DEMO: dict[str, Arguments] = {**GRID, **TYPES, **FLAGS, **OPTIONS}

# What each network of tests/models meets.
NETWORK: dict[str, Arguments] = {
    name: DEMO[name]
    for name in (
        "documented default",
        "NPU",
        "NPU, CLE",
        "NPU, CLE, bias correction",
        "CPU per channel, bias correction",
        "per channel, transformer",
        "per channel, QOperator",
        "ipu_transformer, QDQ, MinMax",
        "cpu, QDQ, MinMax",
        "cpu, QDQ, Percentile",
        "cpu, QDQ, Entropy",
        "cpu, FixNeuron, NonOverflow",
        "VitisQDQ A16W8",
        "VitisQDQ bfloat16",
        "A8W4 per channel",
        "DedicatedQDQPair",
        "SmoothQuant",
        "convert_nchw_to_nhwc on the NPU",
    )
}

# What each graph of a kind meets beside the configurations of the kinds' own tests.
KINDS: dict[str, Arguments] = {
    "transformer": TRANSFORMER,
    "npu with cle and bias correction": with_options(CLE, BiasCorrection=True),
    "qoperator of powers of two": {**S8S8, **MINMSE, "quant_format": QuantFormat.QOperator},
    "distribution": {**U8S8, "calibrate_method": CalibrationMethod.Distribution},
}

# What each network of a zoo meets.
ZOO: dict[str, Arguments] = {
    name: DEMO[name]
    for name in (
        "NPU",
        "NPU, CLE",
        "cpu, QDQ, MinMax",
        "CPU per channel, bias correction",
        "ipu_transformer, QDQ, MinMax",
        "per channel, QOperator",
        "VitisQDQ bfloat16",
    )
}

# Calls that ask onnxruntime's own door for something of ours.
ASKED: dict[str, Arguments] = {
    "Target cpu": with_options(CPU, Target="cpu"),
    "Target ipu_cnn": with_options({**U8S8, **MINMSE}, Target="ipu_cnn"),
    "Target ipu_transformer": with_options({**S8S8, **MINMAX}, Target="ipu_transformer"),
    "EnableDPU": with_options(U8S8, EnableDPU=True),
    "EnableDPU, IncludeCLE, BiasCorrection": with_options(
        {**U8S8, **MINMSE}, EnableDPU=True, IncludeCLE=True, BiasCorrection=True
    ),
    "NonOverflow": {**S8S8, "calibrate_method": PowerOfTwoMethod.NonOverflow},
    "MinMSE, QOperator": {**S8S8, **MINMSE, "quant_format": QuantFormat.QOperator},
    "MinMSE, per channel": {**S8S8, **MINMSE, "per_channel": True},
    "VitisQDQ bfloat16": _vitis(VitisQuantType.QBFloat16, VitisQuantType.QBFloat16),
    "VitisQDQ A16W16": _vitis(VitisQuantType.QInt16, VitisQuantType.QInt16),
    "FixNeuron": {**S8S8, **MINMSE, "quant_format": VitisQuantFormat.FixNeuron},
    "ConvertNCHWToNHWC": with_options(CPU, ConvertNCHWToNHWC=True),
    "BiasCorrection": with_options(CPU, BiasCorrection=True),
    "SmoothQuant": with_options(CPU, Target="cpu", SmoothQuant=True),
    "Int16Scale": with_options(CPU, Int16Scale=True),
    "an option that nobody knows": with_options(CPU, EnableDPU=True, AdjustShiftcut=True),
}

# What `ort-vitis` makes of a quantized file, by verb and the configuration of the file.
CONVERTED = (
    ("convert-qdq-to-qoperator", "NPU"),
    ("convert-qdq-to-qoperator", "per channel"),
    ("convert-qdq-to-qoperator", "VitisQDQ A8W8"),
    ("convert-vitis-to-standard", "VitisQDQ A8W8"),
    ("convert-vitis-to-standard", "VitisQDQ A16W16"),
    ("convert-vitis-to-standard", "cpu, FixNeuron, MinMSE"),
    ("convert-standard-to-vitis", "NPU"),
    ("convert-standard-to-vitis", "per channel"),
    ("convert-quantized-to-float", "NPU"),
    ("convert-quantized-to-float", "VitisQDQ bfloat16"),
    ("convert-domain", "VitisQDQ bfloat16"),
    ("convert-nchw-to-nhwc", "NPU"),
)

# Calls that onnxruntime answers alone.
PLAIN: dict[str, Arguments] = {
    "default": {},
    "u8s8": CPU,
    "per channel": {**CPU, "per_channel": True},
    "reduce range": {**CPU, "reduce_range": True},
    "QOperator": {**CPU, "quant_format": QuantFormat.QOperator},
    "A16W8": {**MINMAX, **_types(QuantType.QInt16, QuantType.QInt8)},
    "A16W16": {**MINMAX, **_types(QuantType.QInt16, QuantType.QInt16)},
    "Entropy": {**U8S8, "calibrate_method": CalibrationMethod.Entropy},
    "Percentile": with_options({**U8S8, **PERCENTILE}, CalibPercentile=99.9),
    "Conv alone": {**CPU, "op_types_to_quantize": ["Conv"]},
    "DedicatedQDQPair": with_options(CPU, DedicatedQDQPair=True),
    "TensorQuantOverrides": with_options(CPU, TensorQuantOverrides={PARTS: [{"quant_type": QuantType.QInt8}]}),
    "keys that both know": with_options(CPU, QuantizeBias=False, WeightSymmetric=True, CalibTensorRangeSymmetric=True),
    "a key that nobody knows": with_options(CPU, ZzzUnheardOf=1),
}
