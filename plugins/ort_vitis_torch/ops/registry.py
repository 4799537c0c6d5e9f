"""An operator is a function of a node's attributes that gives a function of tensors."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper
from torch import Tensor

from ort_vitis_plugin.api import subgraphs

from ..errors import OperatorError

Function = Callable[..., Any]
Builder = Callable[["Attributes"], Function]

_BUILDERS: dict[tuple[str, str], Builder] = {}

_DTYPES: dict[int, torch.dtype] = {
    TensorProto.FLOAT: torch.float32,
    TensorProto.DOUBLE: torch.float64,
    TensorProto.FLOAT16: torch.float16,
    TensorProto.BFLOAT16: torch.bfloat16,
    TensorProto.INT8: torch.int8,
    TensorProto.INT16: torch.int16,
    TensorProto.INT32: torch.int32,
    TensorProto.INT64: torch.int64,
    TensorProto.UINT8: torch.uint8,
    TensorProto.UINT16: torch.uint16,
    TensorProto.UINT32: torch.uint32,
    TensorProto.UINT64: torch.uint64,
    TensorProto.BOOL: torch.bool,
}


@dataclass(frozen=True)
class Attributes:
    """A node's attributes by name, and the version of the operator set that it is written in."""

    node: NodeProto
    opset: int

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute's value as Python or torch has it, else ``default``."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                value = helper.get_attribute_value(attribute)
                if attribute.type == AttributeProto.STRING:
                    return value.decode()
                if attribute.type == AttributeProto.TENSOR:
                    return tensor_of(value)
                return list(value) if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS) else value
        return default

    def refuse(self, what: str) -> OperatorError:
        """The error for a form of the operator that is not computed here."""
        return OperatorError(f"{self.node.op_type} of node {self.node.name!r}: {what} is not computed by the executor")


def operator(*op_types: str, domain: str = "") -> Callable[[Builder], Builder]:
    """Register what computes these operators; also the way to add one of your own.

    ``builder(attributes)`` is called once for a node and gives a function of the node's input tensors (None where an
    optional input is left out) that gives its output tensor, or a tuple of them.
    """

    def register(builder: Builder) -> Builder:
        for op_type in op_types:
            _BUILDERS[domain, op_type] = builder
        return builder

    return register


def function_of(node: NodeProto, opset: int) -> Function:
    """What computes ``node``; raises OperatorError, naming it and the way out."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    builder = _BUILDERS.get((domain, node.op_type))
    if builder is None:
        name = f"{domain}::{node.op_type}" if domain else node.op_type
        way = f"register one with ort_vitis_torch.operator({node.op_type!r}, domain={domain!r})"
        if subgraphs(node):
            way = "its bodies are not run in torch: let forward compute both sides and choose by torch.where"
        raise OperatorError(
            f"the executor has no {name} (node {node.name!r}); {way}. Calibration and export work without it"
        )
    return builder(Attributes(node, opset))


def operators() -> Iterator[tuple[str, str]]:
    """(domain, op type) of every operator that the executor computes."""
    return iter(sorted(_BUILDERS))


def tensor_of(proto: TensorProto) -> Tensor:
    """An ONNX tensor as a torch tensor of its own memory."""
    array = numpy_helper.to_array(proto)
    if proto.data_type == TensorProto.BFLOAT16:
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(np.array(array, order="C"))


def dtype_of(element_type: int) -> torch.dtype:
    """torch's type for an ONNX element type."""
    if element_type not in _DTYPES:
        raise OperatorError(f"torch has no tensor of ONNX's element type {TensorProto.DataType.Name(element_type)}")
    return _DTYPES[element_type]


def element_type_of(dtype: torch.dtype) -> int:
    """ONNX's element type for torch's type of a graph's tensor."""
    return next(element_type for element_type, known in _DTYPES.items() if known is dtype)


def integers(value: Any) -> list[int]:
    """A shape, a list of axes or a size as Python integers, whether an attribute or a tensor."""
    if isinstance(value, Tensor):
        return [int(each) for each in value.reshape(-1).tolist()]
    return [int(each) for each in value]
