"""What all nodes of one domain and name in a model have in common decides about the one function that serves them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

from ..errors import ModelError, UnsupportedError
from ..graph import has_input, subgraphs, walk
from ..graph.element_types import EIGHT_BITS
from ..graph.opsets import AXIS_OPSET
from .domains import CONTRIB_DOMAIN, DEQUANTIZE, FIX_NEURON, OURS, QUANTIZE
from .qdq_nodes import has_scale
from .storage_types import RANGES, STORAGE_TYPES, UNSIGNED

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULTS: dict[str, int | str] = {"axis": 1, "bit_width": "8", "pos": ""}

MIXED_OPSET = 15  # CastLike
_BFLOAT16_OPSET = 13


@dataclass(frozen=True)
class Use:
    """What all nodes of one domain and name have in common."""

    domain: str
    op_type: str
    types: frozenset[int]
    per_axis: bool
    zero_point: bool
    bit_widths: frozenset[int] = frozenset()
    attributes: tuple[str, ...] = ()

    @property
    def mixed(self) -> bool:
        """Whether the body must find out the type by itself."""
        if (self.domain, self.op_type) in QUANTIZE:
            return len(self.types) > 1
        if (self.domain, self.op_type) in FIX_NEURON and not self.native:
            return bool(self.types & UNSIGNED) and not self.types <= UNSIGNED
        return False

    @property
    def native(self) -> bool:
        """FixNeuron and the pair of ai.onnx.contrib are ORT's own 8-bit ops where these can say it."""
        eight_bits = self.types <= EIGHT_BITS
        return self.domain == CONTRIB_DOMAIN and eight_bits and self.bit_widths <= {8}

    @property
    def opset(self) -> int:
        """The lowest opset of the default domain in which the body can be written."""
        return max(
            10,
            MIXED_OPSET if self.mixed else 0,
            AXIS_OPSET if self.per_axis or len(self.bit_widths) > 1 else 0,
            _BFLOAT16_OPSET if TensorProto.BFLOAT16 in self.types else 0,
        )


class Tensors:
    """Element types and sizes of named tensors, as far as the model states them."""

    def __init__(self, model: ModelProto) -> None:
        self.types: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self._read(model.graph)

    def _read(self, graph: GraphProto) -> None:
        for info in (*graph.input, *graph.value_info, *graph.output):
            tensor = info.type.tensor_type
            if tensor.elem_type:
                self.types[info.name] = tensor.elem_type
            if tensor.HasField("shape"):
                dims = tensor.shape.dim
                sizes = [dim.dim_value for dim in dims]
                if 0 not in sizes or all(dim.HasField("dim_value") for dim in dims):
                    self.sizes[info.name] = math.prod(sizes)
        for tensor_proto in graph.initializer:
            self._set(tensor_proto.name, tensor_proto)
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self._set(node.output[0], node.attribute[0].t)
            elif (node.domain, node.op_type) in QUANTIZE and node.output:
                known = self.types.get(node.input[2], 0) if has_input(node, 2) else TensorProto.UINT8
                self.types[node.output[0]] = known
            for subgraph in subgraphs(node):
                self._read(subgraph)

    def _set(self, name: str, tensor: TensorProto) -> None:
        self.types[name] = tensor.data_type
        self.sizes[name] = math.prod(tensor.dims)


def our_nodes(model: ModelProto) -> dict[tuple[str, str], list[NodeProto]]:
    """Nodes of our domains by domain and op type, also inside sub-graphs and other functions."""
    found: dict[tuple[str, str], list[NodeProto]] = {}
    bodies = [function.node for function in model.functions if (function.domain, function.name) not in OURS]
    for nodes in (model.graph.node, *bodies):
        for node in walk(nodes):
            if (node.domain, node.op_type) in OURS:
                found.setdefault((node.domain, node.op_type), []).append(node)
    return found


def bit_width_of(node: NodeProto) -> int:
    """Attribute bit_width of a FixNeuron, an int or a string; 8 where absent.

    Raises:
        ModelError: the attribute is no whole number from 1 to 32.
    """
    for attribute in node.attribute:
        if attribute.name == "bit_width":
            value = helper.get_attribute_value(attribute)
            try:
                width = int(value)
            except (ValueError, TypeError):
                width = 0
            if not 1 <= width <= 32:
                raise ModelError(
                    f"FixNeuron node '{node.name}': bit_width is {value!r}; it must be an integer from 1 to 32"
                )
            return width
    return 8


def zero_point_types(key: tuple[str, str], node: NodeProto, tensors: Tensors) -> frozenset[int]:
    """The type of the node's zero point; all types where the model does not say it.

    Raises:
        UnsupportedError: it is none that the operator takes.
    """
    if has_input(node, 2):
        known = tensors.types.get(node.input[2], 0)
    elif key in DEQUANTIZE:
        known = tensors.types.get(node.input[0], 0)
    else:
        known = TensorProto.UINT8 if key in QUANTIZE else TensorProto.INT8
    allowed = STORAGE_TYPES if key not in FIX_NEURON else frozenset(RANGES)
    if known and known not in allowed:
        name = TensorProto.DataType.Name(known)
        names = ", ".join(sorted(TensorProto.DataType.Name(storage) for storage in allowed))
        raise UnsupportedError(
            f"{node.op_type} node '{node.name}' has a zero point of type {name}; it must be one of {names}"
        )
    return frozenset({known}) if known else allowed


def check_nodes(nodes: Iterable[NodeProto]) -> None:
    """Nodes of ours have their tensor, their scale and their result, and what they state as axis is an integer.

    Raises:
        ModelError: one is not so.
    """
    for node in nodes:
        if not has_scale(node):
            raise ModelError(f"{node.op_type} node '{node.name}' lacks its tensor, its scale or its result")
        for stated in node.attribute:
            if stated.name == "axis" and stated.type != AttributeProto.INT and not stated.ref_attr_name:
                value = helper.get_attribute_value(stated)
                raise ModelError(f"{node.op_type} node '{node.name}': axis is {value!r}; it must be an integer")


def use_of(key: tuple[str, str], nodes: list[NodeProto], tensors: Tensors) -> Use:
    """What these nodes have in common.

    Raises:
        ModelError: one has no scale, or an axis that is no integer.
    """
    check_nodes(nodes)
    per_axis = any(tensors.sizes.get(node.input[1]) != 1 for node in nodes)
    widths = frozenset(bit_width_of(node) for node in nodes) if key in FIX_NEURON else frozenset()
    stated = {attribute.name for node in nodes for attribute in node.attribute if attribute.name in DEFAULTS}
    stated |= {name for name, needed in (("axis", per_axis), ("bit_width", len(widths) > 1)) if needed}
    return Use(
        domain=key[0],
        op_type=key[1],
        types=frozenset().union(*(zero_point_types(key, node, tensors) for node in nodes)),
        per_axis=per_axis,
        zero_point=any(has_input(node, 2) for node in nodes),
        bit_widths=widths,
        attributes=tuple(sorted(stated)),
    )
