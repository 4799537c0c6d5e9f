"""What no reader sums over in blocks needs none: results that leave the model, and sums inside one operation."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import DEFAULT_DOMAINS, PRODUCTS, Graph, Stage, StaysFloat, leave_float, made_by

from .quantized_types import BlockQType
from .self_gates import scales, self_gates

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Context

ACTIVATIONS = ("Clip", "LeakyRelu", "PRelu", "Relu")
NORMALIZATIONS = ("GroupNormalization", "InstanceNormalization", "LayerNormalization", "RMSNormalization")


def _all_in_blocks(context: Context) -> bool:
    return all(isinstance(kind, BlockQType) for kind in context.kinds)


def _bias(graph: Graph, product: str, node: NodeProto) -> str | None:
    """The constant that a node adds to a product along its last axis."""
    if node.op_type != "Add":
        return None
    other = node.input[1] if node.input[0] == product else node.input[0]
    shape = graph.shape(other) if graph.is_constant(other) else None
    return other if shape and all(size == 1 for size in shape[:-1]) else None


@leave_float("FloatBlockOutput", stage=Stage.AFTER_CALIBRATION)
def float_block_output(graph: Graph, context: Context) -> StaysFloat:
    """Block formats: leave tensors float that only leave the model, for nobody sums over a block of them."""
    if not _all_in_blocks(context):
        return StaysFloat()
    outputs = [tensor for tensor in graph.outputs if graph.producer(tensor) and not graph.consumers(tensor)]
    return StaysFloat(tensors=dict.fromkeys(outputs, "only leaves the model"))


def _next(graph: Graph, tensor: str, *, biased: bool) -> NodeProto | None:
    """The node that a device computes in one operation with the sums in ``tensor``: a factor, a bias once, an
    activation."""
    readers = graph.consumers(tensor)
    if len(readers) != 1 or tensor in graph.outputs or readers[0].domain not in DEFAULT_DOMAINS:
        return None
    reader = readers[0]
    if reader.op_type in ACTIVATIONS:
        return reader if reader.input[0] == tensor else None
    if scales(graph, reader, tensor):
        return reader
    return None if biased or _bias(graph, tensor, reader) is None else reader


def _sums(graph: Graph, product: NodeProto) -> tuple[dict[str, str], str]:
    """The sums of a product on their way, each with who takes it, and where they end."""
    found: dict[str, str] = {}
    node, biased = product, product.op_type != "MatMul"
    while (reader := _next(graph, node.output[0], biased=biased)) is not None:
        found[node.output[0]] = f"holds sums of {product.name}, which {reader.name} takes as they are"
        bias = _bias(graph, node.output[0], reader)
        if bias is not None and not scales(graph, reader, node.output[0]):
            biased = True
            if len(graph.consumers(bias)) == 1:
                found[bias] = f"is added to the sums of {product.name}"
        node = reader
        if reader.op_type in ACTIVATIONS:
            break
    return found, node.output[0]


@leave_float("FloatBlockSums", stage=Stage.AFTER_CALIBRATION)
def float_block_sums(graph: Graph, context: Context) -> StaysFloat:
    """Block formats: leave sums float on their way from a product through its bias to its activation."""
    if not _all_in_blocks(context):
        return StaysFloat()
    found: dict[str, str] = {}
    gates = {gate.source: gate for gate in self_gates(graph)}
    for product in graph.of_type(*sorted(PRODUCTS)):
        if product.domain not in DEFAULT_DOMAINS or context.refusal(product):
            continue
        sums, end = _sums(graph, product)
        found.update(sums)
        gate = gates.get(end)
        if gate is not None and end not in graph.outputs and all(id(n) in gate.nodes for n in graph.consumers(end)):
            found[end] = f"holds sums of {product.name}, which its activation takes as they are"
    return StaysFloat(tensors=found)


@leave_float("FloatBlockSteps", stage=Stage.AFTER_CALIBRATION)
def float_block_steps(graph: Graph, context: Context) -> StaysFloat:
    """Block formats: leave float what exporters see of one operation: the steps of x f(x) (Gelu, Swish), the sum that
    only a normalization reads, and the factors of a normalization's channels."""
    if not _all_in_blocks(context):
        return StaysFloat()
    found = {name: f"is a step of a function of {gate.source}" for gate in self_gates(graph) for name in gate.inner}
    for norm in graph.of_type(*NORMALIZATIONS):
        if norm.domain not in DEFAULT_DOMAINS or context.refusal(norm):
            continue
        total, factors = norm.input[0], norm.input[1] if len(norm.input) > 1 else ""
        if made_by(graph, total, "Add") is not None and graph.sole_consumer(total) is norm:
            found[total] = f"is a sum that only {norm.name} reads"
        if graph.is_constant(factors) and graph.sole_consumer(factors) is norm:
            found[factors] = f"multiplies the channels of {norm.name} one by one"
    return StaysFloat(tensors=found)
