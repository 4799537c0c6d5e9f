"""What no reader sums over in blocks needs none: results that leave the model, and sums on their way to a bias."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import DEFAULT_DOMAINS, Graph, Stage, StaysFloat, leave_float

from .quantized_types import BlockQType

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Context


def _all_in_blocks(context: Context) -> bool:
    return all(isinstance(kind, BlockQType) for kind in context.kinds)


def _bias(graph: Graph, product: str, node: NodeProto) -> str | None:
    """The constant that a node adds to a product along its last axis."""
    if node.domain not in DEFAULT_DOMAINS or node.op_type != "Add":
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


@leave_float("FloatBlockBias", stage=Stage.AFTER_CALIBRATION)
def float_block_bias(graph: Graph, context: Context) -> StaysFloat:
    """Block formats: leave a product and the bias that is added to it float, for they meet in the device's sums."""
    found: dict[str, str] = {}
    for product in graph.of_type("MatMul") if _all_in_blocks(context) else ():
        readers = graph.consumers(product.output[0])
        if product.domain not in DEFAULT_DOMAINS or len(readers) != 1 or product.output[0] in graph.outputs:
            continue
        bias = _bias(graph, product.output[0], readers[0])
        if bias is None or context.refusal(product) or context.refusal(readers[0]):
            continue
        found[product.output[0]] = f"meets its bias in the sums of {product.name}"
        if len(graph.consumers(bias)) == 1:
            found[bias] = f"is added to the sums of {product.name}"
    return StaysFloat(tensors=found)
