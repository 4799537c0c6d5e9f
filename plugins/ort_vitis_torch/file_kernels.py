"""Two engines round a float function apart in its last bits; a value between two codes then takes another code.

Where a graph has to give a file's numbers, the operators listed here are computed on the CPU by onnxruntime's kernels,
one node at a time, and torch gives their gradients. All others are exact, or rounded once as IEEE 754 says. So are sums
of products of codes of eight bits in steps of powers of two, which are integers below 2^24: those stay with torch.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import torch
from onnx import NodeProto
from torch import Tensor, nn

from ort_vitis_plugin.api import DEFAULT_DOMAINS, MATRIX_PRODUCTS, PRODUCTS, node_session

from .fake import TQT, FixedPow2
from .ops.registry import Function, element_type_of
from .slots import DOMAIN
from .step import Step

_ROUNDED = """
    Acos Acosh Asin Asinh Atan Atanh Cos Cosh Sin Sinh Tan Tanh
    Celu Elu Erf Exp Gelu HardSigmoid HardSwish Log Mish Pow Selu Sigmoid Softplus Softsign Sqrt Swish
    BatchNormalization GroupNormalization InstanceNormalization LRN LayerNormalization LogSoftmax LpNormalization
    MeanVarianceNormalization RMSNormalization Softmax
    AveragePool CumSum Einsum GlobalAveragePool Mean Resize Sum Upsample
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare
"""
ROUNDED = frozenset(_ROUNDED.split())
SECOND = "i1"

# What onnxruntime sums in an order that depends on its number of threads, which has to be that of a plain session then.
SHARED_SUMS = PRODUCTS | {"Einsum"}

CODE_BITS = 8


@dataclass(frozen=True)
class FileConstants:
    """What a graph holds: ``tensor(name)`` is an initializer, or None; ``decoded`` names those that are codes in the
    file, of which onnxruntime makes floats in every run."""

    tensor: Callable[[str], Tensor | None]
    decoded: Collection[str]

    def is_packed(self, step: Step) -> bool:
        """Whether onnxruntime packs the second operand of a product when it loads the file, and sums otherwise then."""
        name = step.inputs[1] if step.node.op_type in MATRIX_PRODUCTS else ""
        return name not in self.decoded and self.tensor(name) is not None


def file_steps(steps: Sequence[Step], opset: int, constants: FileConstants) -> list[Step]:
    """The steps, where those that round give what onnxruntime gives for the file."""
    maker = {name: step for step in steps for name in step.outputs}

    def is_on_grid(name: str) -> bool:
        step, held = maker.get(name), constants.tensor(name)
        if step is not None:
            return step.node.domain == DOMAIN and _has_few_codes(step.function)
        return held is not None and _lies_on_grid(held)

    def rounds(step: Step) -> bool:
        node = step.node
        if node.domain not in DEFAULT_DOMAINS or step.is_replaced:
            return False
        return node.op_type in ROUNDED or (node.op_type in PRODUCTS and not all(map(is_on_grid, step.inputs[:2])))

    def kernel(step: Step) -> Step:
        made = file_kernel(step.node, opset, step.function, is_packed=constants.is_packed(step))
        return replace(step, function=made)

    return [kernel(step) if rounds(step) else step for step in steps]


def _has_few_codes(quantizer: nn.Module) -> bool:
    if not isinstance(quantizer, (FixedPow2, TQT)):
        return False
    low, high = quantizer.limits
    return high - low < 1 << CODE_BITS


def _lies_on_grid(values: Tensor) -> bool:
    """Whether values are codes of eight bits in a step that is a power of two."""
    largest = values.detach().abs().max() if values.numel() else values.new_zeros(())
    exponent = torch.frexp(largest).exponent
    codes = torch.ldexp(values.detach().double(), CODE_BITS - exponent)
    return bool((codes == codes.round()).all())


def file_kernel(node: NodeProto, opset: int, function: Function, *, is_packed: bool = False) -> Function:
    """``function``, which is torch's for ``node``, with onnxruntime's values where that has a kernel for its inputs.

    ``is_packed``: the second input is a constant of the file.
    """
    written = _anonymous(node).SerializeToString(deterministic=True)
    is_shared = node.op_type in SHARED_SUMS
    open_session = _PackedSession(written, opset) if is_packed else partial(_session, written, opset, is_shared)

    def computed(*tensors: Tensor | None) -> Any:
        given = {f"i{at}": each.detach() for at, each in enumerate(tensors) if each is not None}
        session = open_session(given) if _are_floats(given.values()) else None
        if session is None:
            return function(*tensors)
        feed = {each.name: given[each.name].contiguous().numpy() for each in session.get_inputs()}
        values = iter([torch.from_numpy(array) for array in session.run(None, feed)])
        results = tuple(next(values) if name else None for name in node.output)
        if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in tensors):
            results = _with_gradients(results, function(*tensors))
        return results[0] if len(results) == 1 else results

    return computed


def _are_floats(tensors: Iterable[Tensor]) -> bool:
    return {each.dtype for each in tensors if each.is_floating_point()} == {torch.float32}


class _WithGradient(torch.autograd.Function):
    """The second tensor, with the gradient of the first."""

    @staticmethod
    def forward(ctx: Any, differentiable: Tensor, values: Tensor) -> Tensor:
        return values

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return gradients[0], None


def _with_gradients(results: Sequence[Tensor | None], differentiable: Any) -> tuple[Tensor | None, ...]:
    others = differentiable if isinstance(differentiable, tuple) else (differentiable,)
    pairs = zip(results, others, strict=True)
    return tuple(None if mine is None else _WithGradient.apply(other, mine) for mine, other in pairs)


def _anonymous(node: NodeProto) -> NodeProto:
    """The node without names of its own, so that nodes that compute the same share a session."""
    changed = NodeProto(op_type=node.op_type, attribute=node.attribute)
    changed.input.extend(f"i{at}" if name else "" for at, name in enumerate(node.input))
    changed.output.extend(f"o{at}" if name else "" for at, name in enumerate(node.output))
    return changed


def _session(written: bytes, opset: int, is_shared: bool, given: Mapping[str, Tensor]) -> Any:
    """A session of one node, or None where onnxruntime has no kernel for inputs of these types."""
    types = tuple((name, element_type_of(each.dtype)) for name, each in given.items())
    return _session_of(written, opset, types, 0 if is_shared else torch.get_num_threads())


@lru_cache(maxsize=256)
def _session_of(written: bytes, opset: int, types: tuple[tuple[str, int], ...], threads: int) -> Any:
    return node_session(NodeProto.FromString(written), dict(types), opset, {}, threads)


class _PackedSession:
    """A session of one node that holds its second input, and is opened anew when that changes."""

    def __init__(self, written: bytes, opset: int) -> None:
        self._written, self._opset = written, opset
        self._state: tuple[int, int] | None = None
        self._session: Any = None

    def __call__(self, given: Mapping[str, Tensor]) -> Any:
        weight = given[SECOND]
        state = (weight.data_ptr(), weight._version)
        if state != self._state:
            types = {name: element_type_of(each.dtype) for name, each in given.items() if name != SECOND}
            node = NodeProto.FromString(self._written)
            self._session = node_session(node, types, self._opset, {SECOND: weight.numpy()})
            self._state = state
        return self._session
