"""What is impossible is refused before work starts, with the reason and the nearest thing that works."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from onnx import TensorProto

from ..errors import ModelError, OptionError, UnsupportedError
from ..graph import Graph
from ..onnx_io.load import QUANTIZED_OPS
from ..onnx_io.ort_support import has_native_pairs
from ..options.ort_options import OrtOptions
from ..plugin.entries import full_name
from .range_file import check_range_file

if TYPE_CHECKING:
    from ..request.call import Call
    from ..request.settings import Settings

WEIGHTED = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})


def check_request(settings: Settings) -> None:
    """Refuse combinations of format, method, types and options that cannot work."""
    for argument, kind in (("activation_type", settings.activation), ("weight_type", settings.weight)):
        if not settings.format.accepts(kind):
            others = [
                full_name(other.key) for other in settings.catalog.all(type(settings.format)) if other.accepts(kind)
            ]
            hint = f"use {' or '.join(others)}" if others else "choose another type"
            raise UnsupportedError(f"{argument}={kind} cannot be written as {full_name(settings.format.key)}; {hint}")
    if settings.activation.bits < 8 <= settings.weight.bits:
        raise UnsupportedError(
            f"activation_type={settings.activation} with weight_type={settings.weight}: onnxruntime fuses such pairs "
            "into operators that take no 4-bit activations, and then refuses the model; use activations of 8 bits, or "
            "weights of 4 too"
        )
    for name in settings.lineage:
        check = settings.catalog.target(name).check
        if check is not None:
            check(settings)
    for scales in settings.scale_formats():
        if scales.check is not None:
            scales.check(settings)
    for correction in settings.catalog.corrections(settings.lineage):
        if correction.check is not None and settings.enabled(correction):
            correction.check(settings)
    asked = settings.options[OrtOptions]
    if asked.block_size:
        raise UnsupportedError("BlockSize is onnxruntime's alone: call its quantize_static without options of ours")
    if asked.calib_percentile is not None and not 0 <= asked.calib_percentile <= 100:
        raise OptionError(f"CalibPercentile={asked.calib_percentile!r} is no percentage; it lies between 0 and 100")
    _check_providers(settings)
    check_range_file(settings)


def _check_providers(settings: Settings) -> None:
    available = onnxruntime.get_available_providers()
    for entry in settings.call.execution_providers or ():
        name = entry[0] if isinstance(entry, (list, tuple)) else entry
        if name not in available:
            raise OptionError(f"execution_providers: {name!r} is not available here ({', '.join(available)})")


class AlreadyQuantizedWarning(UserWarning):
    """The model was quantized before; it is handed back as it is."""


def is_quantized(graph: Graph) -> bool:
    """Whether activations pass quantized operators (weights may have been quantized by another tool)."""
    return any(not _is_stored(graph, node.input[0]) for node in graph if node.op_type in QUANTIZED_OPS)


def _is_stored(graph: Graph, tensor: str) -> bool:
    """Whether the model itself holds the value, in whatever way it was written."""
    node = graph.producer(tensor)
    while node is not None and node.op_type in ("Identity", "Cast"):
        tensor = node.input[0]
        node = graph.producer(tensor)
    return graph.array(tensor) is not None


def check_weights(graph: Graph, call: Call) -> None:
    """NaN or Inf in a weight has no code; Inf in a Gemm's bias may be a mask, which needs none."""
    for node in graph:
        if node.op_type not in WEIGHTED or call.refusal(node) is not None:
            continue
        for number, tensor in enumerate(node.input):
            array = graph.array(tensor) if graph.is_constant(tensor) else None
            if array is None or array.dtype.kind != "f":
                continue
            may_mask = node.op_type == "Gemm" and number == 2
            if np.isnan(array).any() or not (may_mask or np.isfinite(array).all()):
                worst = "NaN" if np.isnan(array).any() else "Inf"
                raise ModelError(
                    f"the weight {tensor} of {node.name} holds {worst}; repair the model, or exclude the nodes that "
                    "read it"
                )


def check_floats(graph: Graph, call: Call) -> None:
    """A model of float64 has nothing that these formats can quantize, one of float16 nothing that some can."""
    selected = [node for node in graph if call.refusal(node) is None and node.input]
    kinds = {graph.element_type(name) for node in selected for name in node.input if name}
    if TensorProto.FLOAT16 in kinds and not call.format.writer.takes_float16:
        raise UnsupportedError(
            f"{full_name(call.format.key)} has no operators for float16 tensors; set convert_fp16_to_fp32=True, "
            "or use QuantFormat.QDQ"
        )
    if call.format.writer.needs_native_pairs and not has_native_pairs(graph.opset):
        raise UnsupportedError(
            f"the model's opset {graph.opset} is ahead of this onnxruntime, which has no QuantizeLinear of it for "
            f"{full_name(call.format.key)}; use QuantFormat.QDQ or VitisQuantFormat.QDQ, or an older opset"
        )
    if TensorProto.DOUBLE in kinds and not kinds & {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}:
        raise UnsupportedError(
            "the model computes in float64 (double), which no format can quantize; convert it to float32 first"
        )
