"""onnxruntime's quantizer searches for tensors, which makes marking quadratic: here it asks the graph's index."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from onnxruntime.quantization.onnx_model import ONNXModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from onnx import NodeProto, TensorProto, ValueInfoProto

    from ..graph import Graph


class InitializerIndex:
    """The initializers as onnxruntime's handlers ask for them: by name, or one after another."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[TensorProto]:
        return iter(self._graph.initializers.values())

    def __len__(self) -> int:
        return len(self._graph.initializers)

    def find(self, name: str) -> TensorProto | None:
        return self._graph.initializers.get(name)


class IndexedModel(ONNXModel):  # type: ignore[misc]
    """An ONNXModel whose look-ups ask the index: onnxruntime's own ones search, which makes marking quadratic."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph.model)
        self._index = graph
        self._initializer_index = InitializerIndex(graph)

    def initializer(self) -> InitializerIndex:
        return self._initializer_index

    def nodes(self) -> list[NodeProto]:
        return list(self._index)

    def get_initializer(self, name: str) -> TensorProto | None:
        return self._index.initializers.get(name)

    def get_constant_value(self, output_name: str) -> NDArray[Any] | None:
        return self._index.array(output_name)

    def get_tensor_type(self, tensor_name: str) -> Any:
        value: ValueInfoProto | None = self._index.values.get(tensor_name)
        return value.type.tensor_type if value is not None and value.type.HasField("tensor_type") else None

    def is_graph_output(self, tensor_name: str) -> bool:
        return tensor_name in self._index.outputs

    def is_graph_input(self, tensor_name: str) -> bool:
        return tensor_name in self._index.inputs


@cache
def indexed(handler: Hashable) -> type[Any]:
    """The handler with its ``find_by_name`` bound to the index, in globals of its own; onnxruntime stays as it is."""
    assert isinstance(handler, type)
    function = getattr(handler, "quantize", None)
    if not isinstance(function, FunctionType) or "find_by_name" not in function.__code__.co_names:
        return handler
    if function.__closure__ is not None:
        return handler
    scope = {**function.__globals__, "find_by_name": lambda name, items: items.find(name)}
    rebound = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    return type(handler.__name__, (handler,), {"quantize": rebound})
