"""Every key of ``extra_options`` that ONNX Runtime itself reads, releases 1.20.1 to 1.32.0 taken together."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

from .options import OptionGroup, option


class OrtOptions(OptionGroup):
    """ORT's own options. A call that uses no others stays a call of ORT's."""

    # Which range and which zero point.
    activation_symmetric: bool = option(False, "Give activations zero point 0 (signed) or the middle (unsigned).")
    weight_symmetric: bool | None = option(
        True,
        "Give weights a symmetric range. None: ORT decides by type, symmetric for signed types only; that goes for "
        "ranges that TensorQuantOverrides states, too, unless True or False is set.",
    )
    activation_restricted_asymmetric: bool = option(
        False, "Let the zero point of uint8 activations be only 0 or the middle of the range."
    )
    minimum_real_range: float | None = option(None, "Widen every range narrower than this, so that no scale is tiny.")
    tensor_quant_overrides: dict[str, list[dict[str, Any]]] = option(
        {}, "Per tensor: quant_type, scale and zero_point, rmin and rmax, symmetric, reduce_range, axis, convert."
    )
    block_size: int = option(0, "Quantize rank-2 weights in blocks of this many rows (ORT 1.32, opset 21); 0: do not.")

    # Which nodes and tensors.
    enable_subgraph: bool = option(False, "Quantize inside the bodies of If, Loop and Scan too.")
    force_quantize_no_input_check: bool = option(
        False, "Quantize MaxPool, Transpose and their like even where their input is not quantized yet."
    )
    mat_mul_const_b_only: bool = option(
        False, "Quantize a MatMul only where its second input is constant.", key="MatMulConstBOnly"
    )
    quantize_bias: bool = option(True, "Quantize biases; False leaves them float.")
    op_types_to_exclude_output_quantization: list[str] | None = option(
        [], "Leave the outputs of these op types unquantized."
    )
    qdq_op_type_per_channel_support_to_axis: dict[str, int] = option(
        {}, "The channel axis of an op type's weights, with per_channel.", key="QDQOpTypePerChannelSupportToAxis"
    )

    # How the pairs are written.
    add_qdq_pair_to_weight: bool = option(
        False,
        "Keep weights float and put QuantizeLinear and DequantizeLinear behind them.",
        key="AddQDQPairToWeight",
    )
    dedicated_qdq_pair: bool = option(
        False, "Give each consumer of a tensor a pair of its own.", key="DedicatedQDQPair"
    )
    use_qdq_contrib_ops: bool = option(
        False,
        "Write the pairs in the domain com.microsoft, which has 16 and 4 bits at any opset.",
        key="UseQDQContribOps",
    )
    qdq_keep_removable_activations: bool = option(
        False, "Keep a Relu or Clip that the zero point makes needless.", key="QDQKeepRemovableActivations"
    )
    qdq_disable_weight_adjust_for_int32_bias: bool = option(
        False,
        "Never enlarge a weight's scale to keep its int32 bias in range.",
        key="QDQDisableWeightAdjustForInt32Bias",
    )
    default_tensor_type: int | None = option(
        None, "The TensorProto element type of tensors whose type cannot be inferred."
    )
    sigmoid_nnapi: bool = option(
        False,
        "QOperator: give Sigmoid outputs the scale 1/256 that NNAPI demands.",
        key="extra.Sigmoid.nnapi",
        formats=("QuantFormat.QOperator",),
    )

    # Calibration.
    calib_tensor_range_symmetric: bool = option(False, "Make calibrated ranges symmetric around 0.")
    calib_moving_average: bool = option(
        False, "MinMax: average the extremes over the samples, the newest most.", methods=("MinMax",)
    )
    calib_moving_average_constant: float = option(
        0.01, "The weight of the newest sample in that average.", needs="CalibMovingAverage", methods=("MinMax",)
    )
    calib_max_intermediate_outputs: int | None = option(
        None, "MinMax: merge the extremes after this many samples, to save memory.", methods=("MinMax",)
    )
    calib_strided_min_max: int | None = option(
        None, "Ask the reader for this many samples at a time; it needs a length and set_range."
    )
    calib_percentile: float = option(
        99.999, "Percentile: the share of values, in percent, that the range covers.", methods=("Percentile",)
    )

    # Smoothing, through the package neural-compressor 2.x.
    smooth_quant: bool = option(False, "Move outliers of activations into the weights first (SmoothQuant).")
    smooth_quant_alpha: float = option(0.5, "How much of them moves, from 0 to 1.", needs="SmoothQuant")
    smooth_quant_folding: bool = option(
        True, "Fold the inserted multiplications into the layers before.", needs="SmoothQuant"
    )


# Keys of create_calibrator's own extra_options, onnxruntime 1.20.1 to 1.32.0, which quantize_static hands on to it.
CALIBRATOR_KEYS = frozenset(
    {
        "averaging_constant",
        "max_intermediate_outputs",
        "moving_average",
        "num_bins",
        "num_quantized_bins",
        "per_channel",
        "percentile",
        "scenario",
        "symmetric",
    }
)
ORT_KEYS = frozenset(declared.key for declared in OrtOptions.options()) | CALIBRATOR_KEYS
