"""What no reader sums over in blocks needs none: results that leave the model, and sums inside one operation."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import DEFAULT_DOMAINS, Graph, Stage, StaysFloat, leave_float

from .quantized_types import BlockQType

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Context

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
ACTIVATIONS = ("Clip", "LeakyRelu", "PRelu", "Relu")


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
    """The node that a device computes in one operation with the sums in ``tensor``: a bias once, an activation."""
    readers = graph.consumers(tensor)
    if len(readers) != 1 or tensor in graph.outputs or readers[0].domain not in DEFAULT_DOMAINS:
        return None
    reader = readers[0]
    if reader.op_type in ACTIVATIONS:
        return reader if reader.input[0] == tensor else None
    return None if biased or _bias(graph, tensor, reader) is None else reader


@leave_float("FloatBlockSums", stage=Stage.AFTER_CALIBRATION)
def float_block_sums(graph: Graph, context: Context) -> StaysFloat:
    """Block formats: leave sums float on their way from a product through its bias to its activation."""
    found: dict[str, str] = {}
    for product in graph.of_type(*PRODUCTS) if _all_in_blocks(context) else ():
        if product.domain not in DEFAULT_DOMAINS or context.refusal(product):
            continue
        node, biased = product, product.op_type != "MatMul"
        while (reader := _next(graph, node.output[0], biased=biased)) is not None:
            found[node.output[0]] = f"holds sums of {product.name}, which {reader.name} takes as they are"
            if reader.op_type in ACTIVATIONS:
                break
            bias = _bias(graph, node.output[0], reader)
            assert bias is not None
            if len(graph.consumers(bias)) == 1:
                found[bias] = f"is added to the sums of {product.name}"
            node, biased = reader, True
    return StaysFloat(tensors=found)
