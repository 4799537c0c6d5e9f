"""A network is run piece by piece, each node once for each sample, however many layers are looked at.

Between two layers lie the nodes that the second needs and nobody has run yet: they are a model of their own, whose
inputs are tensors that wait in a cache. A tensor leaves the cache when its last reader has run.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from onnx import ModelProto, helper, numpy_helper

from ort_vitis_plugin.api import Graph, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import NodeProto

    from .tensor_cache import TensorCache


class Session(Protocol):
    """What onnxruntime's InferenceSession offers of itself here."""

    def run(self, output_names: list[str], input_feed: dict[str, Any], /) -> list[Any]:
        """Arrays of the named tensors."""


if TYPE_CHECKING:
    Opener = Callable[[ModelProto], Session]
    Feed = Mapping[str, NDArray[Any]]


class Walk:
    """One network on its way over the samples, up to the last of the ``wanted`` tensors."""

    def __init__(
        self, graph: Graph, feeds: Sequence[Feed], opener: Opener, cache: TensorCache, wanted: Iterable[str]
    ) -> None:
        self._graph, self._opener, self._cache = graph, opener, cache
        self._samples = len(feeds)
        self._order = {id(node): number for number, node in enumerate(graph.sorted())}
        self._wanted: dict[str, int] = {}
        for tensor in wanted:
            self._wanted[tensor] = self._wanted.get(tensor, 0) + 1
        needed = self._ancestors(self._wanted)
        self._waiting = {id(node) for node in needed}
        self._readers: dict[str, int] = {}
        for node in needed:
            for tensor in graph.reads(node):
                self._readers[tensor] = self._readers.get(tensor, 0) + 1
        for feed in feeds:
            for name, array in feed.items():
                if self._is_read(name):
                    cache.append(name, np.asarray(array))

    def reach(self, tensor: str) -> None:
        """Run what is still missing before ``tensor``, for all samples.

        Raises:
            UnsupportedError: a value on the way is no tensor.
        """
        if tensor in self._cache:
            return
        nodes = [node for node in self._ancestors([tensor]) if id(node) in self._waiting]
        made = [name for node in nodes for name in node.output if name]
        self._waiting.difference_update(id(node) for node in nodes)
        fed = dict.fromkeys(name for node in nodes for name in self._graph.reads(node) if name in self._cache)
        for node in nodes:
            for name in self._graph.reads(node):
                self._readers[name] -= 1
        outputs = [name for name in made if self._is_read(name)]
        kinds = {name: self._cache.get(name, 0).dtype for name in fed}
        session = self._opener(piece_of(self._graph, nodes, kinds, outputs))
        for sample in range(self._samples):
            values = session.run(outputs, {name: self._cache.get(name, sample) for name in fed})
            for name, value in zip(outputs, values, strict=True):
                if not isinstance(value, np.ndarray):
                    raise UnsupportedError(f"{name} is no tensor: a network of sequences cannot be run in pieces")
                self._cache.append(name, value)
        for name in fed:
            self._drop_unread(name)

    def value(self, tensor: str, sample: int) -> NDArray[Any]:
        """A tensor that was reached and not released."""
        return self._cache.get(tensor, sample)

    def put(self, tensor: str, sample: int, array: NDArray[Any]) -> None:
        """Go on with another value of a tensor that was reached."""
        self._cache.put(tensor, sample, array)

    def release(self, tensor: str) -> None:
        """One who wanted the tensor has seen it."""
        self._wanted[tensor] -= 1
        self._drop_unread(tensor)

    def replace(self, name: str, array: NDArray[Any]) -> None:
        """Give a constant whose reader has not been run other values."""
        self._graph.put_initializer(numpy_helper.from_array(np.ascontiguousarray(array), name))

    def _is_read(self, tensor: str) -> bool:
        return self._readers.get(tensor, 0) > 0 or self._wanted.get(tensor, 0) > 0

    def _drop_unread(self, tensor: str) -> None:
        if not self._is_read(tensor):
            self._cache.drop(tensor)

    def _ancestors(self, tensors: Iterable[str]) -> list[NodeProto]:
        """Nodes that the tensors need and the cache does not stand for, in order."""
        found: dict[int, NodeProto] = {}
        stack = list(tensors)
        while stack:
            tensor = stack.pop()
            node = None if tensor in self._cache else self._graph.producer(tensor)
            if node is not None and id(node) not in found:
                found[id(node)] = node
                stack.extend(self._graph.reads(node))
        return sorted(found.values(), key=lambda node: self._order[id(node)])


def piece_of(
    graph: Graph, nodes: Sequence[NodeProto], fed: Mapping[str, np.dtype[Any]], outputs: Sequence[str]
) -> ModelProto:
    """A model of some nodes of the graph, with the constants that they read."""
    piece = ModelProto()
    whole = graph.model
    piece.ir_version = whole.ir_version
    piece.opset_import.extend(whole.opset_import)
    piece.functions.extend(whole.functions)
    piece.graph.name = "piece"
    piece.graph.node.extend(nodes)
    constants = dict.fromkeys(
        name for node in nodes for name in graph.reads(node) if name in graph.initializers and name not in fed
    )
    piece.graph.initializer.extend(graph.initializers[name] for name in constants)
    for name, kind in fed.items():
        piece.graph.input.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(kind), None))
    piece.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in outputs)
    return piece
