"""An ONNX graph is a torch module: its float initializers are parameters, its nodes run one after the other.

Integer tensors (shapes, axes, indices) stay on the CPU, where Python reads them; all others follow the module.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto
from torch import Tensor, nn

from .errors import OperatorError
from .ops import function_of, tensor_of
from .slots import DOMAIN

# {op type: inputs that training may change}; of sums and products only vectors, which are biases and factors of layers.
TRAINED: Mapping[str, Collection[int]] = {
    "Add": (0, 1),
    "BatchNormalization": (1, 2),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "Gather": (0,),
    "Gemm": (1, 2),
    "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LayerNormalization": (1, 2),
    "MatMul": (0, 1),
    "Mul": (0, 1),
    "PRelu": (1,),
    "RMSNormalization": (1,),
}
VECTORS_ONLY = frozenset({"Add", "Mul"})


@dataclass(frozen=True)
class Step:
    """A node and what computes it; ``last_uses`` are tensors that nothing reads afterwards."""

    node: NodeProto
    function: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    last_uses: tuple[str, ...]


class OnnxModule(nn.Module):
    """Runs ``model``; ``quantizers`` hold what its FakeQuantize nodes compute, by the name of their slot.

    Called with a tensor for each graph input, in order, it gives a tuple of the graph's outputs. ``parameter_names``
    maps initializers to the names of parameters and buffers here. Raises OperatorError for an operator it lacks.
    """

    def __init__(self, model: ModelProto, quantizers: Mapping[str, nn.Module] | None = None) -> None:
        super().__init__()
        self.model = model
        self.quantizers = nn.ModuleList()
        self.slots: dict[str, nn.Module] = {}
        for slot, module in (quantizers or {}).items():
            self.quantizers.append(module)
            self.slots[slot] = module
        self.parameter_names: dict[str, str] = {}
        self._integers: dict[str, Tensor] = {}
        trained = _trained(model)
        for tensor in model.graph.initializer:
            self._hold(tensor, trained=tensor.name in trained)
        self.inputs = [value.name for value in model.graph.input if not self._is_held(value.name)]
        self.outputs = [value.name for value in model.graph.output]
        self.steps = self._plan(model)
        self._derived: dict[str, Callable[[], Tensor]] = {}

    def _hold(self, tensor: TensorProto, *, trained: bool) -> None:
        value = tensor_of(tensor)
        if not value.is_floating_point():
            self._integers[tensor.name] = value
            return
        name = _identifier(tensor.name, self)
        self.parameter_names[tensor.name] = name
        if trained:
            self.register_parameter(name, nn.Parameter(value))
        else:
            self.register_buffer(name, value)

    def _is_held(self, name: str) -> bool:
        return name in self.parameter_names or name in self._integers

    def _plan(self, model: ModelProto) -> list[Step]:
        opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
        last: dict[str, int] = {}
        for at, node in enumerate(model.graph.node):
            last.update(dict.fromkeys((*node.input, *node.output), at))
        ends: dict[int, list[str]] = defaultdict(list)
        for name, at in last.items():
            if name and name not in self.outputs and not self._is_held(name):
                ends[at].append(name)
        return [
            Step(node, self._function(node, opset), tuple(node.input), tuple(node.output), tuple(ends[at]))
            for at, node in enumerate(model.graph.node)
        ]

    def _function(self, node: NodeProto, opset: int) -> Any:
        if node.domain == DOMAIN:
            return self.slots[node.name]
        return function_of(node, opset)

    def derive(self, initializer: str, function: Callable[[], Tensor]) -> None:
        """Compute an initializer anew in every call, instead of holding it; it is then no parameter any more."""
        delattr(self, self.parameter_names.pop(initializer))
        self._derived[initializer] = function

    def replace(self, node_name: str, function: Callable[..., Any]) -> None:
        """Let a function of the node's inputs compute a node."""
        self.steps = [replace(step, function=function) if step.node.name == node_name else step for step in self.steps]

    def parameter(self, initializer: str) -> Tensor:
        """The tensor that an initializer of the graph became."""
        if initializer in self._derived:
            return self._derived[initializer]()
        if initializer in self._integers:
            return self._integers[initializer]
        held: Tensor = getattr(self, self.parameter_names[initializer])
        return held

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        values = self._run(tensors, ())
        return tuple(values[name] for name in self.outputs)

    def values(self, tensors: Sequence[Tensor], names: Iterable[str]) -> dict[str, Tensor]:
        """The tensors of the graph of these names, for one call."""
        kept = set(names)
        values = self._run(tensors, kept, stop=self._last_of(kept))
        return {name: values[name] for name in kept}

    def _last_of(self, names: Collection[str]) -> int:
        """The number of steps after which all these tensors are known."""
        return max((at + 1 for at, step in enumerate(self.steps) if not set(names).isdisjoint(step.outputs)), default=0)

    def _run(self, tensors: Sequence[Tensor], kept: Collection[str], stop: int | None = None) -> dict[str, Tensor]:
        if len(tensors) != len(self.inputs):
            raise OperatorError(
                f"the graph takes {len(self.inputs)} tensors ({', '.join(self.inputs)}), not {len(tensors)}"
            )
        values: dict[str, Tensor] = dict(zip(self.inputs, tensors, strict=True))
        values.update(self._integers)
        for name, key in self.parameter_names.items():
            values[name] = getattr(self, key)
        for name, function in self._derived.items():
            values[name] = function()
        for step in self.steps[:stop]:
            result = step.function(*[values[name] if name else None for name in step.inputs])
            if len(step.outputs) == 1:
                values[step.outputs[0]] = result[0] if isinstance(result, tuple) else result
            else:
                values.update(zip(step.outputs, result, strict=False))
            for name in step.last_uses:
                if name not in kept:
                    values.pop(name, None)
        return values


def _trained(model: ModelProto) -> set[str]:
    """Initializers that training may change; also where they reach their operator through a quantizer."""
    sizes = {tensor.name: len(tensor.dims) for tensor in model.graph.initializer}
    behind = {node.output[0]: node.input[0] for node in model.graph.node if node.domain == DOMAIN}
    found = set()
    for node in model.graph.node:
        for at in TRAINED.get(node.op_type, ()):
            name = node.input[at] if at < len(node.input) else ""
            name = behind.get(name, name)
            if name in sizes and (node.op_type not in VECTORS_ONLY or sizes[name] == 1):
                found.add(name)
    return found


def _identifier(name: str, module: nn.Module) -> str:
    """A name that torch takes for a parameter."""
    base = "".join(letter if letter.isalnum() else "_" for letter in name)
    base = base if base and not base[0].isdigit() else f"_{base}"
    found, number = base, 1
    while hasattr(module, found):
        found, number = f"{base}_{number}", number + 1
    return found
