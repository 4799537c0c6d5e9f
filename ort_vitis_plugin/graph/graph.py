"""A model with an index: producer, consumers, initializers, shapes are looked up, never searched."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, ValueInfoProto, helper

from ..errors import ModelError
from ..onnx_io import external_weights
from .default_opset import default_opset
from .nodes import DEFAULT_DOMAINS, constant_value
from .renames import Renames
from .subgraphs import body_names, captured_names, rename_captured, subgraphs
from .topological_order import in_order


def _open_size(dim: TensorShapeProto.Dimension) -> int | str | None:
    """What a dimension says that is not a number above 0."""
    return 0 if dim.HasField("dim_value") else (dim.dim_param or None)


@dataclass(frozen=True)
class Skip:
    """A step declined a node, and why."""

    step: str
    node: str
    op_type: str
    reason: str


class Graph:
    """An editable view of one ModelProto. Every edit keeps the index; ``to_model`` writes the nodes back, sorted.

    Large constants may lie beside the message (``weights``): ``array`` gives them, ``to_model`` puts them in.

    ``device_output`` maps a tensor inside one device operation to the tensor that the device writes
    (DPU simulation puts a factor behind a pool: the pair belongs behind the factor), and
    ``device_nodes`` names the nodes that only simulate. ``simulated_node`` maps the name of the node that ends the
    simulation of an operation by several nodes to the node that it replaces: its tensors are quantized instead.
    ``kept`` names tensors and nodes that must not vanish: the caller speaks of them. ``renames`` says what has become
    of names: steps that rename, part or merge what bears one write it there.
    """

    def __init__(self, model: ModelProto, *, copy: bool = True) -> None:
        if copy:
            original, model = model, ModelProto()
            model.CopyFrom(original)
        self.model = model
        self.nodes: dict[int, NodeProto] = {id(node): node for node in list(model.graph.node)}
        self.initializers: dict[str, TensorProto] = {tensor.name: tensor for tensor in model.graph.initializer}
        self.inputs: dict[str, ValueInfoProto] = {value.name: value for value in model.graph.input}
        self.outputs: dict[str, ValueInfoProto] = {value.name: value for value in model.graph.output}
        self.values: dict[str, ValueInfoProto] = {value.name: value for value in model.graph.value_info}
        self.values.update(self.inputs)
        self.values.update(self.outputs)
        self.device_output: dict[str, str] = {}
        self.device_nodes: set[str] = set()
        self.simulated_node: dict[str, NodeProto] = {}
        self.kept: set[str] = set()
        self.renames = Renames()
        self.skips: list[Skip] = []
        self.step = ""
        self._producers: dict[str, NodeProto] = {}
        self._consumers: dict[str, dict[int, NodeProto]] = {}
        self._arrays: dict[str, NDArray[Any]] = {}
        self._beside = external_weights.arrays_of(model)
        self._names: set[str] = set()
        self._suffix: dict[str, int] = {}
        self._order: list[NodeProto] | None = None  # until the next edit
        for node in self.nodes.values():
            twice = next((tensor for tensor in node.output if tensor in self._producers), "")
            if twice:
                raise ModelError(f"the graph computes {twice!r} twice; give every output a name of its own")
            self._index(node)
        self._names |= self.values.keys() | self.initializers.keys()

    # ------------------------------------------------------------------ look-ups

    @property
    def opset(self) -> int:
        """Version of the default operator set."""
        return default_opset(self.model)

    def __iter__(self) -> Iterator[NodeProto]:
        return iter(list(self.nodes.values()))

    def of_type(self, *op_types: str) -> Iterator[NodeProto]:
        """Nodes of the default domain with one of these op types."""
        return (node for node in self if node.op_type in op_types and node.domain in DEFAULT_DOMAINS)

    def producer(self, tensor: str) -> NodeProto | None:
        return self._producers.get(tensor)

    def consumers(self, tensor: str) -> list[NodeProto]:
        """Nodes that read the tensor, those whose bodies capture it included."""
        return list(self._consumers.get(tensor, {}).values())

    def reads(self, node: NodeProto) -> set[str]:
        """The tensors that a node reads, those that its bodies capture included."""
        names = set(node.input)
        names.discard("")
        return names | captured_names(node) if node.attribute and subgraphs(node) else names

    def sole_consumer(self, tensor: str) -> NodeProto | None:
        """The one node that reads the tensor, if it is read once and is no graph output."""
        consumers = self._consumers.get(tensor, {})
        if len(consumers) != 1 or tensor in self.outputs:
            return None
        node = next(iter(consumers.values()))
        return node if list(node.input).count(tensor) == 1 and not subgraphs(node) else None

    def is_constant(self, tensor: str) -> bool:
        """Whether the tensor is an initializer that no caller can replace (a graph input can be)."""
        return tensor in self.initializers and tensor not in self.inputs

    def array(self, tensor: str) -> NDArray[Any] | None:
        """The value of an initializer or Constant node in its shape and type, or None. Read-only: all share it."""
        if tensor in self._arrays:
            return self._arrays[tensor]
        proto = self.initializers.get(tensor)
        if proto is None:
            node = self._producers.get(tensor)
            if node is None or node.op_type != "Constant" or node.domain not in DEFAULT_DOMAINS:
                return None
            value = constant_value(node)
            if value is None:
                return None
            array: NDArray[Any] = value
        else:
            array = external_weights.array_of(proto)
        if array.dtype != object:
            array.flags.writeable = False
        self._arrays[tensor] = array
        return array

    def element_type(self, tensor: str) -> int:
        """ONNX element type, 0 where unknown."""
        proto = self.initializers.get(tensor)
        if proto is not None:
            return int(proto.data_type)
        value = self.values.get(tensor)
        return 0 if value is None else int(value.type.tensor_type.elem_type)

    def shape(self, tensor: str) -> tuple[int | str | None, ...] | None:
        """Dimensions: a number, a symbol, or None for unknown; None when the rank is unknown."""
        proto = self.initializers.get(tensor)
        if proto is not None:
            return tuple(proto.dims)
        value = self.values.get(tensor)
        if value is None or not value.type.tensor_type.HasField("shape"):
            return None
        return tuple([dim.dim_value or _open_size(dim) for dim in value.type.tensor_type.shape.dim])

    def static_shape(self, tensor: str) -> tuple[int, ...] | None:
        """The shape if every dimension is a number."""
        shape = self.shape(tensor)
        if shape is None or not all(isinstance(dim, int) for dim in shape):
            return None
        return tuple(dim for dim in shape if isinstance(dim, int))

    def unique(self, name: str) -> str:
        """``name``, or ``name_1``, ``name_2``... if a tensor or node is called so already."""
        candidate, number = name, self._suffix.get(name, 0)
        while candidate in self._names:
            number += 1
            candidate = f"{name}_{number}"
        self._suffix[name] = number
        self._names.add(candidate)
        return candidate

    def reserve(self, names: Iterable[str]) -> None:
        """Keep ``unique`` from giving these names."""
        self._names.update(names)

    def skip(self, node: NodeProto, reason: str) -> None:
        """Record that the running step declines the node."""
        self.skips.append(Skip(self.step, node.name, node.op_type, reason))

    # ------------------------------------------------------------------ edits

    def add(self, node: NodeProto) -> NodeProto:
        self.nodes[id(node)] = node
        self._index(node)
        return node

    def make(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str], name: str = "", **attributes: Any
    ) -> NodeProto:
        """Create and add a node; its name is made unique."""
        node = helper.make_node(op_type, list(inputs), list(outputs), **attributes)
        node.name = self.unique(name or f"{op_type}_{outputs[0]}")
        return self.add(node)

    def remove(self, node: NodeProto) -> None:
        self._order = None
        del self.nodes[id(node)]
        for tensor in self.reads(node):
            self._consumers.get(tensor, {}).pop(id(node), None)
        for tensor in node.output:
            if self._producers.get(tensor) is node:
                del self._producers[tensor]

    def add_initializer(self, name: str, array: NDArray[Any]) -> str:
        """Add a constant under ``name`` or the next free variant of it; returns the name taken.

        The constant has the array's shape and type.
        """
        name = self.unique(name)
        self.put_initializer(external_weights.tensor_of(array, name))
        return name

    def put_initializer(self, tensor: TensorProto) -> None:
        """Add or replace an initializer."""
        self.initializers[tensor.name] = external_weights.lightened(tensor)
        self._arrays.pop(tensor.name, None)
        self._names.add(tensor.name)

    def set_inputs(self, node: NodeProto, inputs: Iterable[str]) -> None:
        self._order = None
        key = id(node)
        for tensor in self.reads(node):
            self._consumers.get(tensor, {}).pop(key, None)
        node.input[:] = list(inputs)
        for tensor in self.reads(node):
            self._consumers.setdefault(tensor, {})[key] = node

    def set_outputs(self, node: NodeProto, outputs: Iterable[str]) -> None:
        self._order = None
        for tensor in node.output:
            if self._producers.get(tensor) is node:
                del self._producers[tensor]
        node.output[:] = list(outputs)
        for tensor in node.output:
            if tensor:
                self._producers[tensor] = node
                self._names.add(tensor)

    def replace_input(self, node: NodeProto, old: str, new: str) -> None:
        """Let one node read ``new`` wherever it reads ``old``."""
        self.set_inputs(node, [new if tensor == old else tensor for tensor in node.input])

    def redirect(self, node: NodeProto, old: str, new: str) -> None:
        """Let one node read ``new`` in place of ``old``, in its bodies too."""
        if subgraphs(node):
            # What the bodies capture is part of the index: take the node out of it while they change.
            self.remove(node)
            rename_captured(node, {old: new})
            node.input[:] = [new if tensor == old else tensor for tensor in node.input]
            self.add(node)
        else:
            self.replace_input(node, old, new)

    def replace_uses(self, old: str, new: str) -> None:
        """Let every node of this graph, bodies included, read ``new`` in place of ``old``; outputs keep their names."""
        for node in self.consumers(old):
            self.redirect(node, old, new)

    def bypass(self, node: NodeProto) -> bool:
        """Remove a node that passes its first input on; False where two names are needed for one tensor."""
        source, target = node.input[0], node.output[0]
        if {node.name, source if target in self.outputs else target} & self.kept:
            self.skip(node, "the request names it")
            return False
        if target not in self.outputs:
            self.replace_uses(target, source)
            self.remove(node)
            return True
        producer = self.producer(source)
        if producer is None or source in self.outputs or list(producer.output).count(source) != 1:
            return False
        self.remove(node)
        self.set_outputs(producer, [target if tensor == source else tensor for tensor in producer.output])
        self.replace_uses(source, target)
        return True

    def rename_node(self, node: NodeProto, name: str, *, shared: bool = False) -> None:
        """Give a node, of this graph or of a body in it, a free name; ``shared`` says that another keeps the old one.

        What the caller said of the old name holds of the new one.
        """
        old, node.name = node.name, name
        self._names.add(name)
        if old:
            self.renames.node(old, *((old, name) if shared else (name,)))

    def rename_tensor(self, old: str, new: str) -> None:
        """Give an inner tensor or a constant a free name; what the caller said of the old one holds of the new one."""
        self.replace_uses(old, new)
        producer = self.producer(old)
        if producer is not None:
            self.set_outputs(producer, [new if tensor == old else tensor for tensor in producer.output])
        if old in self.initializers:
            tensor = TensorProto()
            tensor.CopyFrom(self.initializers.pop(old))
            tensor.name = new
            self.put_initializer(tensor)
        value = self.values.pop(old, None)
        if value is not None:
            value.name = new
            self.values[new] = value
        self.renames.tensor(old, new)

    def describe(self, tensor: str, element_type: int, shape: Sequence[int | str | None] | None) -> None:
        """State type and shape of a new inner tensor."""
        self.values[tensor] = helper.make_tensor_value_info(tensor, element_type, shape)

    def to_model(self) -> ModelProto:
        """The model as it is now, with everything in it."""
        return external_weights.internalized(self.write_back())

    def write_back(self) -> ModelProto:
        """Write nodes (sorted), initializers and value infos back; initializers nobody reads are dropped."""
        proto = self.model.graph
        scratch = GraphProto()
        scratch.node.extend(self.sorted())
        used = {name for tensor, readers in self._consumers.items() if readers for name in (tensor,)}
        used |= self.outputs.keys() | self.inputs.keys()
        scratch.initializer.extend(tensor for name, tensor in self.initializers.items() if name in used)
        made = self._producers.keys() - self.outputs.keys() - self.inputs.keys()
        scratch.value_info.extend(value for name, value in self.values.items() if name in made)
        for field in ("node", "initializer", "value_info"):
            target = getattr(proto, field)
            del target[:]
            target.extend(getattr(scratch, field))
        return self.model

    def reload(self, model: ModelProto) -> None:
        """Index ``model``, rewritten as a whole, in place of the one before; what steps said stays."""
        skips, step, kept, renames = self.skips, self.step, self.kept, self.renames
        self.__init__(external_weights.externalize(model), copy=False)  # type: ignore[misc]
        self.skips, self.step, self.kept, self.renames = skips, step, kept, renames

    # ------------------------------------------------------------------ inside

    def _index(self, node: NodeProto) -> None:
        self._order = None
        key = id(node)
        for tensor in self.reads(node):
            self._consumers.setdefault(tensor, {})[key] = node
        for tensor in node.output:
            if tensor:
                self._producers[tensor] = node
                self._names.add(tensor)
        if node.name:
            self._names.add(node.name)
        if node.attribute:
            self._names.update(body_names(node))

    def sorted(self) -> list[NodeProto]:
        """Topological order that keeps today's order where it is free to."""
        if self._order is None:
            self._order = in_order(self.nodes, self._producers, self._consumers, self.reads)
        return list(self._order)
