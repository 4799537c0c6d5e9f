"""What exporters take apart runs as the one operation that it was: Gelu, a product with its bias, attention.

    x erf-Gelu:   x / sqrt(2) -> Erf -> + 1 -> * x -> / 2
    linear:       MatMul(x, w) -> Add(b)
    attention:    MatMul(q, k) -> [* scale] -> [Add(mask)] -> Softmax -> MatMul(v)

Nothing is fused across a quantizer, so that codes stay what they are.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from ort_vitis_plugin.api import DEFAULT_DOMAINS

from .step import Step

CLOSE = 1e-6

Number = Callable[[str], float | None]


def fused(steps: Sequence[Step], outputs: Sequence[str], number: Number) -> list[Step]:
    """The steps, fewer of them; ``number(name)`` is the value of a constant of one element."""
    graph = _Graph(steps, outputs, number)
    for step in steps:
        if step.node.op_type == "Erf":
            _gelu(graph, step)
        elif step.node.op_type == "Softmax":
            _attention(graph, step)
    for step in list(graph.steps):
        if step.node.op_type == "MatMul":
            _linear(graph, step)
    return graph.steps


class _Graph:
    """Steps by what they make and read."""

    def __init__(self, steps: Sequence[Step], outputs: Sequence[str], number: Number) -> None:
        self.steps, self.outputs, self.number = list(steps), set(outputs), number
        self._index()

    def _index(self) -> None:
        self.maker = {name: step for step in self.steps for name in step.outputs}
        self.readers: dict[str, list[Step]] = {}
        for step in self.steps:
            for name in step.inputs:
                self.readers.setdefault(name, []).append(step)

    def only_reader(self, step: Step, op_type: str) -> Step | None:
        """The one step that reads what this one makes, if it is of that type."""
        name = step.outputs[0]
        readers = self.readers.get(name, [])
        is_one = len(readers) == 1 and name not in self.outputs and len(step.outputs) == 1
        return readers[0] if is_one and _is(readers[0], op_type) else None

    def made_by(self, name: str, op_type: str) -> Step | None:
        """What makes a tensor that nothing else reads, if it is of that type."""
        step = self.maker.get(name)
        is_one = step is not None and _is(step, op_type) and self.only_reader(step, "") is not None
        return step if is_one else None

    def operand(self, step: Step, value: float) -> str | None:
        """The other input of a step of two of which one is this number."""
        if len(step.inputs) == 2:
            for at in (1, 0):
                found = self.number(step.inputs[at])
                if found is not None and abs(found - value) <= CLOSE:
                    return step.inputs[1 - at]
        return None

    def replace(
        self, last: Step, others: Sequence[Step], function: Callable[..., Tensor], inputs: Sequence[str]
    ) -> None:
        """Let one function, in the place of the last step, compute what they all do."""
        gone = {id(step) for step in others}
        new = replace(last, function=function, inputs=tuple(inputs))
        self.steps = [new if step is last else step for step in self.steps if id(step) not in gone]
        self._index()


def _is(step: Step, op_type: str) -> bool:
    return step.node.domain in DEFAULT_DOMAINS and op_type in ("", step.node.op_type)


def _gelu(graph: _Graph, erf: Step) -> None:
    divided, times = graph.made_by(erf.inputs[0], "Div"), graph.made_by(erf.inputs[0], "Mul")
    scaled = divided or times
    x = None
    if divided is not None and graph.number(divided.inputs[0]) is None:
        x = graph.operand(divided, math.sqrt(2))
    elif times is not None:
        x = graph.operand(times, math.sqrt(0.5))
    plus = graph.only_reader(erf, "Add")
    if scaled is None or x is None or plus is None or graph.operand(plus, 1.0) != erf.outputs[0]:
        return
    product = graph.only_reader(plus, "Mul")
    if product is None:
        return
    other = next((name for name in product.inputs if name != plus.outputs[0]), "")
    inner = [scaled, erf, plus]
    if other == x:
        last = graph.only_reader(product, "Mul")
        if last is not None and graph.operand(last, 0.5) == product.outputs[0]:
            graph.replace(last, [*inner, product], functional.gelu, [x])
        return
    half = graph.made_by(other, "Mul")
    if half is not None and graph.operand(half, 0.5) == x:
        graph.replace(product, [*inner, half], functional.gelu, [x])


def _linear(graph: _Graph, product: Step) -> None:
    add = graph.only_reader(product, "Add")
    if add is None or add.inputs[0] == add.inputs[1]:
        return
    bias = next(name for name in add.inputs if name != product.outputs[0])
    graph.replace(add, [product], _product_and_sum, [*product.inputs, bias])


def _product_and_sum(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    if weight.ndim == 2 and bias.ndim == 1 and x.ndim > 1 and len(bias) == weight.shape[1]:
        return functional.linear(x, weight.t(), bias)
    return torch.matmul(x, weight) + bias


def _attention(graph: _Graph, softmax: Step) -> None:
    axis = next((each.i for each in softmax.node.attribute if each.name == "axis"), -1)
    last = graph.only_reader(softmax, "MatMul")
    if axis not in (-1, 3) or last is None or last.inputs[0] != softmax.outputs[0]:
        return
    masked = graph.made_by(softmax.inputs[0], "Add")
    name, mask = (softmax.inputs[0], "") if masked is None else (masked.inputs[0], masked.inputs[1])
    scale, scaled = 1.0, graph.made_by(name, "Mul") or graph.made_by(name, "Div")
    if scaled is not None:
        factor = graph.number(scaled.inputs[1])
        if not factor:
            return
        scale = factor if scaled.node.op_type == "Mul" else 1 / factor
        name = scaled.inputs[0]
    product = graph.made_by(name, "MatMul")
    if product is None:
        return
    inner = [step for step in (product, scaled, masked, softmax) if step is not None]
    inputs = [*product.inputs, last.inputs[1], *([mask] if mask else [])]
    graph.replace(last, inner, partial(_attended, scale), inputs)


def _attended(scale: float, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(scale q k + mask) v; k has its two last axes as MatMul needs them."""
    is_stack = q.ndim == k.ndim == v.ndim == 4 and q.shape[:2] == k.shape[:2] == v.shape[:2]
    if is_stack and (mask is None or mask.ndim >= 2):
        return functional.scaled_dot_product_attention(q, k.transpose(-1, -2), v, mask, scale=scale)
    scores = torch.matmul(q, k) * scale
    return torch.matmul(torch.softmax(scores if mask is None else scores + mask, -1), v)
