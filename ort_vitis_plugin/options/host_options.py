"""Every argument of the vai_q_onnx signature as an option, so that onnxruntime's door reaches all of it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any, Literal

from .options import OptionGroup, option


class CallOptions(OptionGroup):
    """Options that the host itself reads."""

    target: str | None = option(None, "The device: cpu, ipu_cnn, ipu_transformer, or one that a plugin declares.")
    preset: str | None = option(
        None, "A named configuration for what the call leaves alone: ipu_cnn, ipu_transformer, cpu, or a plugin's."
    )
    activation_types: dict[str, Any] = option(
        {}, "Types of what nodes of an op type write, such as {'Softmax': 'QBFloat16'}; TensorQuantOverrides win."
    )
    enable_dpu: bool = option(False, "Quantize for the DPU/NPU: the target ipu_cnn.", key="EnableDPU")
    format: Any = option(None, "The format by key or name, for formats that have no enum member.")
    method: Any = option(None, "The calibration method by key or name, for methods that have no enum member.")
    activation_type: Any = option(
        None, "The type of activations by name (QInt8, QBFloat16, ...), before the argument of that name."
    )
    weight_type: Any = option(None, "The type of weights by name, before the argument of that name.")
    report: str | None = option(None, "File for the report of the call, as JSON.")
    input_nodes: list[str] | None = option(None, "Nodes to start at: what lies before them on a path stays float.")
    output_nodes: list[str] | None = option(None, "Nodes to end at: what lies behind them on a path stays float.")
    include_cle: bool | Literal["auto"] = option(
        False,
        "Equalize consecutive layers before calibration; auto: where samples held out are nearer to float so.",
        key="IncludeCLE",
    )
    convert_fp16_to_fp32: bool = option(
        False, "Turn a float16 model into a float32 one first.", key="ConvertFP16ToFP32"
    )
    convert_nchw_to_nhwc: bool = option(
        False, "Let image inputs take channels last, as the NPU prefers.", key="ConvertNCHWToNHWC"
    )
    execution_providers: list[Any] | None = option(None, "ONNX Runtime providers that calibrate (default: CPU).")
    mixed_types: dict[str, Any] | None = option(
        None,
        "Other types for parts of the model: {op type, node or pattern: type, or {'activation_type': ...,"
        " 'weight_type': ...}}; a name wins over a pattern, a pattern over an op type, a later entry over an earlier.",
    )
    weight_only: dict[str, Any] | None = option(
        None,
        "Store weights of matrix products in blocks of few bits: {'bits': 4, 'block': 32}, with 'symmetric', 'scale'"
        " ('max', 'mse'), 'format' ('MatMulNBits', 'QDQ'), 'accuracy_level' and 'bits_of' ({'op type, node name or"
        " pattern': 8}); data stay float unless activation_type is given.",
    )
    fix_shapes: dict[str, Any] | None = option(
        None, "Fix the sizes of inputs: {input: [1, 3, 224, 224]}, or {name of a dimension: 1}."
    )
    optimize_model: bool = option(True, "Run ONNX Runtime's basic graph optimization before quantization.")
    preprocess: bool = option(False, "Run onnxruntime's quant_pre_process (symbolic shapes, optimization) first.")
    random_data_reader_input_shape: Any = option(
        None, "Input shapes of the random reader: one shape, a list of shapes in input order, or {name: shape}."
    )
    random_data_reader_input_data_range: Any = option(
        None, "Range of random inputs: (low, high) for all or {name: (low, high)}; default [0, 1), integers 0 or 1."
    )
    use_unsigned_relu: bool = option(
        False,
        "With ActivationSymmetric: outputs of Relu and of Clip from 0 are asymmetric, from 0 up.",
        key="UseUnsignedReLU",
        needs="ActivationSymmetric",
    )
    self_check: bool = option(True, "Check, load and run the result against the float model before handing it over.")
    attribution: bool = option(
        True, "Where the self-check objects to the result, try what helps; this may take as long as the call itself."
    )
    avoid_saturation: bool = option(
        True,
        "Target cpu: spare a bit of the weights where this CPU's integer kernels saturate (no VNNI).",
        targets=("cpu",),
    )
    recipe: Literal["auto", "plain"] = option(
        "auto",
        "auto: with real samples, weights and biases also follow what samples show, where samples held out confirm it. "
        "plain: what the named method alone gives.",
    )
    weight_range: Literal["energy", "method"] | None = option(
        None,
        "energy: a weight's range or position is that of least error times the mean square of its input; method: the "
        "method's own. None: as Recipe finds.",
    )
    non_finite_samples: Literal["report", "error"] = option(
        "report", "NaN or Inf in calibration: leave them out and report them, or stop at the first one."
    )
    custom_op_libraries: list[str] | None = option(None, "Paths of the custom-op libraries that the model needs.")
    explain_tensors: bool = option(
        False, "Compute the error of every quantized tensor for the report (report.tensors, explain-tensor)."
    )
    quantize_quantized: bool = option(False, "Go on when the model holds quantized operators already.")
    max_memory: int | str | None = option(
        None,
        "Refuse a model that needs more memory for one sample: bytes, or '4 GB'; default: what this machine has.",
        check=lambda size: not isinstance(size, int) or size > 0,
    )
    time_limit: float | None = option(
        None,
        "Seconds that a run of one sample may take, for a Loop without end; default: 1800, or ORT_VITIS_TIME_LIMIT.",
        check=lambda seconds: seconds is None or seconds > 0,
    )
    calibration_cache: str | None = option(None, "File that keeps calibration statistics for the next call.")
    calibration_cache_path: str | None = option(
        None, "onnxruntime's JSON file of ranges, for its own methods: read if it exists, else written."
    )

    @property
    def equalizes(self) -> bool:
        """Whether layers are equalized; not where that is still to be judged."""
        return bool(self.include_cle) and not isinstance(self.include_cle, str)
