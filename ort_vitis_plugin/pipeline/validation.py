"""What is impossible is refused before work starts, with the reason and the nearest thing that works."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from onnx import TensorProto

from ..errors import ModelError, OptionError, UnsupportedError
from ..graph import Graph
from ..graph.element_types import FLOATS
from ..graph.op_sets import MOVES, PRODUCTS
from ..numerics.qtypes import Scaling
from ..onnx_io.load import QUANTIZED_OPS
from ..onnx_io.ort_support import has_float8_pairs, has_native_pairs
from ..options.options import OptionWarning
from ..options.ort_options import OrtOptions
from ..planning.constants import check_channels
from ..plugin.entries import full_name
from ..request.mixed_types import OPTION
from .range_file import check_range_file
from .weight_only import check_weight_only

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..request.call import Call
    from ..request.settings import Settings

FLOAT8_RELEASE = "1.20"  # the first with QuantizeLinear of opset 21
TO_CODES = frozenset({"QuantizeLinear", "VitisQuantizeLinear", "ExtendedQuantizeLinear"})
FROM_CODES = frozenset({"DequantizeLinear", "VitisDequantizeLinear", "ExtendedDequantizeLinear"})
# Options on scales and zero points.
OF_SCALES = (
    "ActivationSymmetric",
    "WeightSymmetric",
    "CalibTensorRangeSymmetric",
    "ActivationRestrictedAsymmetric",
    "MinimumRealRange",
)


def check_request(settings: Settings) -> None:
    """Refuse combinations of format, method, types and options that cannot work.

    Raises:
        UnsupportedError: format, method and types do not go together.
        OptionError: an option has a value that cannot be, or a provider is missing.
    """
    stated = [("activation_type", settings.activation), ("weight_type", settings.weight)]
    for key, types in settings.mixed.items():
        stated += [(f"{OPTION}[{key!r}]", kind) for kind in (types.activation, types.weight)]
    for argument, kind in stated:
        if not settings.format.accepts(kind):
            others = [
                full_name(other.key) for other in settings.catalog.all(type(settings.format)) if other.accepts(kind)
            ]
            hint = f"use {' or '.join(others)}" if others else "choose another type"
            raise UnsupportedError(f"{argument}={kind} cannot be written as {full_name(settings.format.key)}; {hint}")
    for kind in settings.kinds:
        if kind.scaling is Scaling.LINEAR and not has_float8_pairs(kind.element_type):
            raise UnsupportedError(
                f"onnxruntime {onnxruntime.__version__} has no operators for {kind}; those from {FLOAT8_RELEASE} on do"
            )
    if settings.activation.is_integer and settings.activation.bits < 8 <= settings.weight.bits:
        raise UnsupportedError(
            f"activation_type={settings.activation} with weight_type={settings.weight}: onnxruntime fuses such pairs "
            "into operators that take no 4-bit activations, and then refuses the model; use activations of 8 bits, or "
            "weights of 4 too"
        )
    asked = settings.options[OrtOptions]
    if not settings.format.writer.has_zero_points and not asked.activation_symmetric:
        raise UnsupportedError(
            f"ActivationSymmetric=False: {full_name(settings.format.key)} has no zero points, so every tensor is "
            "symmetric; leave it out or set it to True, or use QuantFormat.QDQ"
        )
    _check_override_types(settings)
    for name in settings.lineage:
        check = settings.catalog.target(name).check
        if check is not None:
            check(settings)
    if settings.format.check is not None:
        settings.format.check(settings)
    for scales in settings.scale_formats():
        if scales.check is not None:
            scales.check(settings)
    for correction in settings.catalog.corrections(settings.lineage):
        if correction.check is not None and settings.enabled(correction):
            correction.check(settings)
    _check_blocks(settings)
    if asked.smooth_quant:
        raise UnsupportedError(
            "SmoothQuant is onnxruntime's own step, by neural-compressor 2.x: call onnxruntime.quantization."
            "quantize_static with no option of ours (or save the model that neural-compressor smooths, and give that)"
        )
    if asked.calib_percentile is not None and not 0 <= asked.calib_percentile <= 100:
        raise OptionError(f"CalibPercentile={asked.calib_percentile!r} is no percentage; it lies between 0 and 100")
    check_weight_only(settings.weight_blocks)
    _warn_of_scales(settings)
    _check_providers(settings)
    check_range_file(settings)


def _check_blocks(settings: Settings) -> None:
    asked = settings.options[OrtOptions].block_size
    if not asked:
        return
    if asked < 0:
        raise OptionError(f"BlockSize={asked}: a block has at least one row; 0 makes none")
    if not settings.format.writer.has_blocks or settings.method.power_of_two:
        raise UnsupportedError(
            f"BlockSize={asked}: blocks have float scales and native pairs; use QuantFormat.QDQ and "
            "calibrate_method=CalibrationMethod.MinMax, or leave BlockSize out"
        )


def _check_override_types(settings: Settings) -> None:
    for tensor, listed in (settings.options[OrtOptions].tensor_quant_overrides or {}).items():
        entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, Sequence) else []
        entries += [entry["convert"] for entry in entries if isinstance(entry.get("convert"), Mapping)]
        where = f"TensorQuantOverrides[{tensor!r}]"
        for stated in entries:
            try:
                kind = settings.catalog.qtype(stated["quant_type"]) if "quant_type" in stated else None
            except UnsupportedError as error:
                raise UnsupportedError(f"{where}: {error}") from error
            if kind is not None and not settings.format.accepts(kind):
                raise UnsupportedError(f"{where}: {kind} cannot be written as {full_name(settings.format.key)}")
            is_asymmetric = stated.get("symmetric", True) is False or np.any(stated.get("zero_point", 0))
            if is_asymmetric and not settings.format.writer.has_zero_points:
                raise UnsupportedError(
                    f"{where} is asymmetric, but {full_name(settings.format.key)} has no zero points"
                )


def check_overrides(graph: Graph, call: Call) -> None:
    """Refuse what TensorQuantOverrides state of an axis that a constant of the model does not have."""
    for tensor, stated in call.overrides.items():
        if tensor in graph.initializers and stated:
            check_channels(tensor, graph.initializers[tensor].dims, stated)


def _warn_of_scales(settings: Settings) -> None:
    """What speaks of scales and zero points, where no type of the call has one, has no effect; said once."""
    if any(kind.scaling is not Scaling.NONE for kind in settings.kinds):
        return
    given = [key for key in OF_SCALES if key in settings.request.given]
    given += [name for name in ("per_channel", "reduce_range") if getattr(settings.request, name)]
    if given:
        kinds = " and ".join(sorted(map(str, settings.kinds)))
        text = f"{', '.join(given)}: without meaning for {kinds}, whose codes carry their own exponents"
        warnings.warn(text, OptionWarning, stacklevel=6)


def _check_providers(settings: Settings) -> None:
    available = onnxruntime.get_available_providers()
    for entry in settings.call.execution_providers or ():
        name = entry[0] if isinstance(entry, (list, tuple)) else entry
        if name not in available:
            raise OptionError(f"execution_providers: {name!r} is not available here ({', '.join(available)})")


class AlreadyQuantizedWarning(UserWarning):
    """The model was quantized before; it is handed back as it is."""


def is_quantized(graph: Graph) -> bool:
    """Whether activations pass quantized operators.

    Codes that the model holds (weights of another tool) or gets (a camera's bytes), and codes that it only hands out,
    are how values come and go.
    """
    return any(_computes(graph, node) for node in graph if node.op_type in QUANTIZED_OPS)


def _computes(graph: Graph, node: NodeProto) -> bool:
    origin = _origin(graph, node.input[0])
    if graph.array(origin) is not None:
        return False
    if node.op_type in FROM_CODES:
        return origin not in graph.inputs
    return not (node.op_type in TO_CODES and _leaves(graph, node))


def _origin(graph: Graph, tensor: str) -> str:
    """The tensor whose values these are, moved or of another type."""
    node = graph.producer(tensor)
    while node is not None and node.op_type in MOVES | {"Cast"}:
        tensor = node.input[0]
        node = graph.producer(tensor)
    return tensor


def _leaves(graph: Graph, node: NodeProto) -> bool:
    """Whether what the node makes only leaves the graph."""
    readers = graph.consumers(node.output[0])
    if not readers:
        return node.output[0] in graph.outputs
    return all(reader.op_type in MOVES and _leaves(graph, reader) for reader in readers)


def check_weights(graph: Graph, call: Call) -> None:
    """NaN or Inf in a weight has no code; Inf in a Gemm's bias may be a mask, which needs none.

    Raises:
        ModelError: a weight holds NaN or Inf.
    """
    for node in graph:
        if node.op_type not in PRODUCTS or call.refusal(node) is not None:
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
    """A model of float64 has nothing that these formats can quantize, one of float16 nothing that some can.

    Raises:
        UnsupportedError: the model's float type or opset is none that the format can write.
    """
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
    if TensorProto.DOUBLE in kinds and not kinds & (FLOATS - {TensorProto.DOUBLE}):
        raise UnsupportedError(
            "the model computes in float64 (double), which no format can quantize; convert it to float32 first"
        )
