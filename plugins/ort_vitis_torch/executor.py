"""An ONNX graph is a torch module: its float initializers are parameters, its nodes run one after the other.

Integer tensors (shapes, axes, indices) stay on the CPU, where Python reads them; all others follow the module.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from onnx import ModelProto, NodeProto, TensorProto
from torch import Tensor, nn

from ort_vitis_plugin.api import SIZE_OPS, default_opset

from .errors import OperatorError
from .file_kernels import FileConstants, file_steps
from .fused_steps import fused
from .ops import function_of, tensor_of
from .program import Program
from .shape_steps import shape_steps
from .slots import DOMAIN
from .step import Step

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


# So many programs are kept, one for each tuple of shapes that calls came with.
PROGRAMS = 16


class OnnxModule(nn.Module):
    """Runs ``model``; ``quantizers`` hold what its FakeQuantize nodes compute, by the name of their slot.

    Called with a tensor for each graph input, in order, it gives a tuple of the graph's outputs. ``parameter_names``
    maps initializers to the names of parameters and buffers here. ``decoded`` are initializers that the
    file of this graph holds as codes: where given, evaluation on the CPU gives the bits that onnxruntime gives for that
    file. Raises OperatorError for an operator it lacks.
    """

    def __init__(
        self,
        model: ModelProto,
        quantizers: Mapping[str, nn.Module] | None = None,
        *,
        decoded: Collection[str] | None = None,
    ) -> None:
        super().__init__()
        self.decoded = decoded
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
        self._derived: dict[str, Callable[[], Tensor]] = {}
        self._programs: dict[Any, Program] = {}
        self.opset = default_opset(model)
        self.steps = [
            Step(node, self._function(node, self.opset), tuple(node.input), tuple(node.output))
            for node in _own(model.graph.node)
        ]

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

    def _function(self, node: NodeProto, opset: int) -> Any:
        if node.domain == DOMAIN:
            return self.slots[node.name]
        return function_of(node, opset)

    def derive(self, initializer: str, function: Callable[[], Tensor]) -> None:
        """Compute an initializer anew in every call, instead of holding it; it is then no parameter any more."""
        delattr(self, self.parameter_names.pop(initializer))
        self._derived[initializer] = function
        self._programs.clear()

    def replace(self, node_name: str, function: Callable[..., Any], *, in_training: bool = False) -> None:
        """Let a function of a node's inputs compute it; ``in_training``: in evaluation it does what the node says."""
        self.steps = [
            replace(step, function=function, is_replaced=not in_training) if step.node.name == node_name else step
            for step in self.steps
        ]
        self._programs.clear()

    def parameter(self, initializer: str) -> Tensor:
        """The tensor that an initializer of the graph became."""
        if initializer in self._derived:
            return self._derived[initializer]()
        if initializer in self._integers:
            return self._integers[initializer]
        held: Tensor = getattr(self, self.parameter_names[initializer])
        return held

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        if len(tensors) != len(self.inputs):
            raise OperatorError(
                f"the graph takes {len(self.inputs)} tensors ({', '.join(self.inputs)}), not {len(tensors)}"
            )
        if torch.jit.is_tracing():  # shapes are no numbers then
            return self._run(Program(self.steps, self._names(), self.outputs, self._integers), tensors)
        as_in_file = (
            self.decoded is not None and not self.training and all(tensor.device.type == "cpu" for tensor in tensors)
        )
        key = (as_in_file, *(tensor.shape for tensor in tensors))
        program = self._programs.get(key)
        if program is None:
            program = self._compiled(tensors, as_in_file=as_in_file)
            while len(self._programs) >= PROGRAMS:
                del self._programs[next(iter(self._programs))]
            self._programs[key] = program
        return self._run(program, tensors)

    def _names(self) -> list[str]:
        """All that a call may bring: inputs, then parameters and buffers, then what is computed anew."""
        return [*self.inputs, *self.parameter_names, *self._derived]

    def _compiled(self, tensors: Sequence[Tensor], *, as_in_file: bool) -> Program:
        """The program for calls with tensors of these shapes; what follows from shapes alone is computed here."""
        names = self._names()
        found = shape_steps(self.steps, self.inputs, self._integers, names[len(self.inputs) :])
        once = [step for at, step in enumerate(self.steps) if at in found]
        rest = [step for at, step in enumerate(self.steps) if at not in found]
        read = {name for step in rest for name in step.inputs} | set(self.outputs)
        made = [name for step in once for name in step.outputs if name in read]
        constants = dict(self._integers)
        if made:
            seen = {step.inputs[0] for step in once if step.node.op_type in SIZE_OPS}
            with torch.no_grad():
                first = Program(self.steps if seen - set(names) else once, names, made, self._integers)
                constants.update(zip(made, self._run(first, tensors), strict=True))
        if as_in_file:
            rest = file_steps(rest, self.opset, FileConstants(self._constant, self.decoded or ()))
        else:
            rest = fused(rest, self.outputs, lambda name: self._number(name, constants))
        read = {name for step in rest for name in step.inputs} | set(self.outputs)
        return Program(rest, names, self.outputs, {name: held for name, held in constants.items() if name in read})

    def _number(self, name: str, constants: Mapping[str, Tensor]) -> float | None:
        """The value of a tensor of one element that never changes."""
        held = constants.get(name)
        if held is None:
            held = self._buffers.get(self.parameter_names.get(name, ""))
        return float(held) if held is not None and held.numel() == 1 else None

    def _constant(self, name: str) -> Tensor | None:
        """A tensor that the graph holds."""
        return self.parameter(name) if name in self.parameter_names else None

    def _run(self, program: Program, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        given = dict(zip(self.inputs, tensors, strict=True))
        return tuple(program.run([given[name] if name in given else self._held(name) for name in program.needed]))

    def _held(self, name: str) -> Tensor:
        key = self.parameter_names.get(name)
        if key is None:
            return self._derived[name]()
        held = self._parameters.get(key)
        held = self._buffers.get(key) if held is None else held
        return getattr(self, key) if held is None else held


def _own(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Copies: a node of a model keeps all of the model in memory, weights too."""
    for node in nodes:
        copy = NodeProto()
        copy.CopyFrom(node)
        yield copy


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
