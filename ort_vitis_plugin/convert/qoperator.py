"""Float operators between dequantize and quantize nodes become the operators that work on the codes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper

from ort_vitis_plugin.custom_ops.qdq_nodes import is_native
from ort_vitis_plugin.foreign import public
from ort_vitis_plugin.graph import DEFAULT_DOMAINS, Graph, attribute, has_input, subgraphs
from ort_vitis_plugin.graph.element_types import EIGHT_BITS
from ort_vitis_plugin.graph.nodes import MICROSOFT

from .clip_on_codes import clip_codes
from .finer_biases import floor_biases
from .opened_graph import opened_graph
from .product_biases import widen_biases
from .qlinear_ops import WRITERS
from .qlinear_site import Codes, Site, Written
from .skipped_subgraphs import skip_blocks
from .stored_weights import fold_codes

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from ort_vitis_plugin.graph import Skip


class Converter:
    """Rewrites one graph, node by node; what has no quantized operator stays as it is."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._zeros: dict[int, str] = {}

    def convert(self) -> None:
        """Quantized operators for float ones; pair halves that nobody reads any more go."""
        order = self.graph.sorted()
        for node in order:
            writer = WRITERS.get(node.op_type)
            if writer is None or node.domain not in DEFAULT_DOMAINS or subgraphs(node):
                continue
            site = Site(
                self.graph,
                node,
                [self._dequantized(tensor) for tensor in node.input],
                [self._quantized(tensor) for tensor in node.output if tensor],
            )
            if not any(site.inputs):
                continue
            written = writer(site)
            if isinstance(written, str):
                self.graph.skip(node, written)
            else:
                self._replace(site, written)
        for node in reversed(order):
            self._clear(node)

    # ------------------------------------------------------------------ reading pairs

    def _dequantized(self, tensor: str) -> Codes | None:
        """The codes behind a dequantize node, or None."""
        node = self.graph.producer(tensor)
        return self._codes(node, node.input[0]) if node is not None and is_native(node, "DequantizeLinear") else None

    def _quantized(self, tensor: str) -> Codes | None:
        """The codes that all readers of a tensor turn it into, or None."""
        readers = self.graph.consumers(tensor)
        if (
            not readers
            or tensor in self.graph.outputs
            or not all(is_native(reader, "QuantizeLinear") for reader in readers)
        ):
            return None
        found = [self._codes(reader, reader.output[0]) for reader in readers]
        first = found[0]
        if first is None or first.element_type not in EIGHT_BITS:
            return None
        for other in found[1:]:
            if other is None or other.tensor in self.graph.outputs or not other.has_meaning_of(first):
                return None
        return first

    def _codes(self, pair_half: NodeProto, tensor: str) -> Codes | None:
        """The codes ``tensor`` with the constants that a quantize or dequantize node reads for them."""
        scale = self.graph.array(pair_half.input[1])
        if scale is None or scale.dtype != np.float32 or attribute(pair_half, "block_size", 0):
            return None
        if has_input(pair_half, 2):
            zero_name = pair_half.input[2]
        elif scale.size == 1:
            zero_name = self._zero(self._element_type_without_zero(pair_half, tensor))
        else:
            return None
        zero = self.graph.array(zero_name)
        element_type = self.graph.element_type(zero_name)
        if zero is None or element_type not in EIGHT_BITS | {TensorProto.INT32} or zero.size != scale.size:
            return None
        shape = () if scale.size == 1 else (scale.size,)
        axis = attribute(pair_half, "axis", 1) if shape else None
        values = scale.reshape(shape), zero.reshape(shape)
        return Codes(tensor, element_type, pair_half.input[1], zero_name, *values, axis)

    def _element_type_without_zero(self, pair_half: NodeProto, tensor: str) -> int:
        if pair_half.op_type == "QuantizeLinear":
            return int(attribute(pair_half, "output_dtype", 0)) or int(TensorProto.UINT8)
        return self.graph.element_type(tensor)

    def _zero(self, element_type: int) -> str:
        """A zero point 0 for nodes that came without one."""
        if element_type not in EIGHT_BITS | {TensorProto.INT32}:
            return ""
        if element_type not in self._zeros:
            dtype = helper.tensor_dtype_to_np_dtype(element_type)
            name = self.graph.add_initializer(f"zero_point_{dtype.name}", np.zeros((), dtype))
            self._zeros[element_type] = name
        return self._zeros[element_type]

    # ------------------------------------------------------------------ writing

    def _replace(self, site: Site, written: Written) -> None:
        """The quantized operator writes the codes; the float one and the quantize nodes behind it go."""
        graph, node = self.graph, site.node
        attributes = {entry.name: entry for entry in node.attribute if entry.name not in written.dropped}
        graph.remove(node)
        found = iter(site.outputs)
        outputs = [self._take_over(tensor, next(found)) if tensor else "" for tensor in node.output]
        name = f"{node.name}_quant" if node.name else ""
        made = graph.make(
            written.op_type, written.inputs, outputs, name, domain=written.domain or None, **written.attributes
        )
        made.attribute.extend(entry for key, entry in attributes.items() if key not in written.attributes)

    def _take_over(self, tensor: str, codes: Codes | None) -> str:
        """The name under which the new node writes what the quantize nodes of ``tensor`` wrote."""
        if codes is None:
            return tensor
        target = codes.tensor if codes.tensor in self.graph.outputs else self._name(tensor, codes.tensor)
        self.graph.describe(target, codes.element_type, self.graph.shape(tensor))
        for quantizer in self.graph.consumers(tensor):
            self.graph.remove(quantizer)
            if quantizer.output[0] != target:
                self.graph.replace_uses(quantizer.output[0], target)
        return target

    def _name(self, tensor: str, codes: str) -> str:
        """``t_quantized`` for the codes of t, where t is the graph output if they become one."""
        ends = [reader.output[0] for reader in self.graph.consumers(codes) if is_native(reader, "DequantizeLinear")]
        whole = next((end for end in ends if end in self.graph.outputs), tensor)
        return self.graph.unique(f"{whole}_quantized")

    def _clear(self, node: NodeProto) -> None:
        """Halves of pairs that nobody reads go; codes that stay are named after their tensor."""
        graph = self.graph
        if id(node) not in graph.nodes or not (
            is_native(node, "QuantizeLinear") or is_native(node, "DequantizeLinear")
        ):
            return
        target = node.output[0]
        if target in graph.outputs:
            return
        if not graph.consumers(target):
            graph.remove(node)
        elif node.op_type == "QuantizeLinear":
            name = self._name(node.input[0], target)
            if graph.element_type(target):
                graph.describe(name, graph.element_type(target), graph.shape(target))
            graph.set_outputs(node, [name])
            graph.replace_uses(target, name)


@public
def qdq_to_qoperator(model: ModelProto, skips: list[Skip] | None = None) -> ModelProto:
    """A quantized model with QuantizeLinear/DequantizeLinear pairs as one with quantized operators (QLinearConv, ...).

    An operator turns into its quantized form where onnxruntime's CPU has a kernel for its types and the results
    differ by rounding only; all others keep their pairs. ``model`` stays as it is; ``skips`` gets the reasons.
    """
    graph = opened_graph(model, "qdq_to_qoperator")
    fold_codes(graph)
    widen_biases(graph)
    clip_codes(graph)
    floor_biases(graph)
    Converter(graph).convert()
    skip_blocks(graph)
    result = graph.to_model()
    is_used = any(node.domain == MICROSOFT for node in result.graph.node)
    if is_used and all(entry.domain != MICROSOFT for entry in result.opset_import):
        result.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    if skips is not None:
        skips.extend(graph.skips)
    return result
