"""Layer by layer, weights move so that the quantized layer gives, from quantized inputs, what it gave in float.

AdaQuant (Hubara et al., arXiv 2006.10518) moves weights and bias by the straight-through gradient; AdaRound (Nagel et
al., arXiv 2004.10568) learns for each weight whether it is rounded up or down. Learning rates count in steps of the
weight, so that none has to be tuned. A layer keeps its change only if it is nearer on samples it was not moved by, and
the network only if its outputs are.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from onnx import ModelProto, NodeProto
from torch import Tensor, nn

from . import host_calls
from .errors import ConfigError
from .executor import OnnxModule
from .fake import FakeQuantizer
from .modules import quantizers
from .narrow import limited
from .slots import DOMAIN, SlottedGraph, slotted

log = logging.getLogger(__name__)

LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
ACTIVATIONS = ("Relu", "Clip")

# AdaRound's rectified sigmoid and the end of its regularization (its paper's 1.1, -0.1, 20 to 2, 0.01).
STRETCH, SHIFT = 1.2, -0.1
STEEPEST, FLATTEST, REGULARIZATION, WARM = 20.0, 2.0, 0.01, 0.2

# Share of the mean variance of channels that is added to that of each before they are made to count alike.
EVEN = 0.01


@dataclass(frozen=True)
class FinetuneOptions:
    """How fast fine-tuning runs. ``learning_rate`` of AdaQuant counts in steps of the weight; ``held_out`` is the
    share of the samples that judges a change."""

    algorithm: Literal["adaquant", "adaround"] = "adaquant"
    iterations: int = 400
    batch_size: int = 32
    learning_rate: float = 0.03
    held_out: float = 0.25
    seed: int = 0

    def __post_init__(self) -> None:
        if self.algorithm not in ("adaquant", "adaround"):
            raise ConfigError(f"algorithm={self.algorithm!r}: there are 'adaquant' and 'adaround'")
        if self.iterations < 1 or self.batch_size < 1 or not 0 < self.held_out < 1:
            raise ConfigError("iterations and batch_size are at least 1, held_out is between 0 and 1")


@dataclass(frozen=True)
class _Layer:
    """A node, the names of its weight and bias in the quantized net, and of its result in both nets."""

    node: NodeProto
    function: Callable[..., Tensor]
    weight: str
    weight_slot: FakeQuantizer
    bias: str | None
    bias_slot: nn.Module | None
    result: str
    target: str
    limits: tuple[float, float]


def finetune(
    written: ModelProto,
    prepared: ModelProto,
    feeds: Sequence[host_calls.Feed],
    settings: host_calls.Settings,
    options: FinetuneOptions,
    *,
    weight_bits: int = 8,
) -> host_calls.Written:
    """The written model with weights and biases moved, all other parameters as they are.

    ``prepared`` is the float model that ``written`` was made of, ``feeds`` samples by input name (no labels).
    """
    weights = host_calls.float_weights(prepared)
    graph = limited(slotted(written, weights), weight_bits)
    quantized = OnnxModule(graph.model, quantizers(graph.slots)).eval()
    reference = OnnxModule(prepared).eval()
    batches = [[torch.from_numpy(np.ascontiguousarray(feed[name])) for name in reference.inputs] for feed in feeds]
    kept = min(max(1, round(len(batches) * options.held_out)), len(batches) - 1)
    data = _Data(quantized, reference, batches, kept)
    before = data.network_error()
    for layer in _layers(graph, quantized, reference):
        _tune(layer, data, options)
    after = data.network_error()
    log.info("fast fine-tuning: held-out error of the outputs %.4g -> %.4g", before, after)
    if not after < before:
        return host_calls.Written(written)
    moved = {name: _numpy(quantized.parameter(held)) for name, held in graph.constants.items() if name in weights}
    return host_calls.rewrite(prepared, moved, graph.slots.values(), feeds, settings)


def _numpy(tensor: Tensor) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = tensor.detach().cpu().numpy()
    return array


class _Data:
    """The samples in both nets; the last ``kept`` batches judge (0: all move layers and judge)."""

    def __init__(self, quantized: OnnxModule, reference: OnnxModule, batches: list[list[Tensor]], kept: int) -> None:
        self.quantized, self.reference = quantized, reference
        self.batches, self.kept = batches, kept

    def of(self, layer: _Layer) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """The layer's quantized inputs and float results: those that move it, those that judge it."""
        inputs, targets = [], []
        with torch.no_grad():
            for batch in self.batches:
                inputs.append(self.quantized.values(batch, [layer.node.input[0]])[layer.node.input[0]])
                targets.append(self.reference.values(batch, [layer.target])[layer.target])
        pairs = list(zip(inputs, targets, strict=True))
        first = pairs[: len(pairs) - self.kept] if self.kept else pairs
        return _joined(first), _joined(pairs[len(pairs) - self.kept :] if self.kept else pairs)

    def network_error(self) -> float:
        """Mean square of the outputs' differences on the samples that judge."""
        total, count = 0.0, 0
        with torch.no_grad():
            for batch in self.batches[-self.kept :] if self.kept else self.batches:
                for here, there in zip(self.quantized(*batch), self.reference(*batch), strict=True):
                    if there.is_floating_point():
                        total += float((here - there).double().square().sum())
                        count += there.numel()
        return total / max(count, 1)


def _joined(pairs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    return torch.cat([x for x, _ in pairs]), torch.cat([y for _, y in pairs])


def _layers(graph: SlottedGraph, quantized: OnnxModule, reference: OnnxModule) -> list[_Layer]:
    producers = {name: node for node in graph.model.graph.node for name in node.output}
    readers: dict[str, list[NodeProto]] = {}
    for node in graph.model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    known = {name for node in reference.model.graph.node for name in node.output}
    held = set(graph.constants.values())
    found = []
    for step in quantized.steps:
        node = step.node
        if node.op_type not in LAYERS or node.domain == DOMAIN:
            continue
        weight = producers.get(node.input[1])
        if weight is None or weight.domain != DOMAIN or weight.input[0] not in held:
            continue
        slot = quantized.slots[weight.name]
        if not isinstance(slot, FakeQuantizer) or len(readers[weight.input[0]]) > 1:
            continue
        bias = producers.get(node.input[2]) if len(node.input) > 2 else None
        is_bias = bias is not None and bias.domain == DOMAIN and len(readers[bias.input[0]]) == 1
        end, limits, target = _end(node, readers, quantized, graph)
        if target in known:
            found.append(
                _Layer(
                    node,
                    _through(step.function, end, quantized),
                    weight.input[0],
                    slot,
                    bias.input[0] if bias is not None and is_bias else None,
                    quantized.slots[bias.name] if bias is not None and is_bias else None,
                    node.output[0],
                    target,
                    limits,
                )
            )
    return found


def _end(
    node: NodeProto, readers: Mapping[str, list[NodeProto]], quantized: OnnxModule, graph: SlottedGraph
) -> tuple[NodeProto | None, tuple[float, float], str]:
    """The activation behind a layer, the range of the quantizer behind that, and the result's name in the float net."""
    end: NodeProto | None = None
    name = node.output[0]
    following = readers.get(name, [])
    if len(following) == 1 and following[0].op_type in ACTIVATIONS:
        end, name = following[0], following[0].output[0]
        following = readers.get(name, [])
    if following and all(each.domain == DOMAIN for each in following):
        slot = quantized.slots[following[0].name]
        if isinstance(slot, FakeQuantizer) and slot.scale().ndim == 0:
            low, high = ((limit - float(slot.zero_point)) * float(slot.scale()) for limit in slot.limits)
            outputs = {value.name for value in graph.model.graph.output}
            ends = [each.output[0] for each in following if each.output[0] in outputs]
            return end, (low, high), ends[0] if ends else name
    return end, (-np.inf, np.inf), name


def _through(function: Callable[..., Tensor], end: NodeProto | None, quantized: OnnxModule) -> Callable[..., Tensor]:
    if end is None:
        return function
    step = next(step for step in quantized.steps if step.node is end)
    others = [quantized.parameter(name) if name else None for name in step.inputs[1:]]
    return lambda *tensors: step.function(function(*tensors), *others)


def _tune(layer: _Layer, data: _Data, options: FinetuneOptions) -> None:
    (x, y), (judge_x, judge_y) = data.of(layer)
    weight = data.quantized.parameter(layer.weight)
    bias = None if layer.bias is None else data.quantized.parameter(layer.bias)
    y, judge_y = y.clamp(*layer.limits), judge_y.clamp(*layer.limits)
    factor = _evened(y, layer.node.op_type)
    y, judge_y = y * factor, judge_y * factor

    def results(inputs: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
        rounded = b if b is None or layer.bias_slot is None else layer.bias_slot(b)
        extra = () if rounded is None else (rounded,)
        return layer.function(inputs, w, *extra).clamp(*layer.limits) * factor

    def error(w: Tensor, b: Tensor | None) -> float:
        with torch.no_grad():
            parts = [
                (results(judge_x[at : at + 256], layer.weight_slot(w), b) - judge_y[at : at + 256])
                .double()
                .square()
                .sum()
                for at in range(0, len(judge_x), 256)
            ]
        return float(torch.stack(parts).sum())

    tune = _adaround if options.algorithm == "adaround" else _adaquant
    start = error(weight, bias)
    best = start, weight.detach().clone(), None if bias is None else bias.detach().clone()
    for w, b in tune(layer, weight.detach(), None if bias is None else bias.detach(), (x, y), results, options):
        found = error(w, b)
        if found < best[0]:
            best = found, w.detach().clone(), None if b is None else b.detach().clone()
    with torch.no_grad():
        weight.copy_(best[1])
        if bias is not None and best[2] is not None:
            bias.copy_(best[2])
    log.info("%s: held-out error %.4g -> %.4g", layer.node.name, start, best[0])


def _evened(y: Tensor, op_type: str) -> Tensor:
    """Factors by which every channel of a result counts alike: what is small here may be large to the next layer.

    1 / sqrt(var_c + EVEN mean var): channels that hardly vary at all do not count more than others.
    """
    channel = 1 if op_type in ("Conv", "ConvTranspose") else y.ndim - 1
    variance = y.var([axis for axis in range(y.ndim) if axis != channel], keepdim=True, correction=0)
    return torch.rsqrt(variance + EVEN * variance.mean() + torch.finfo(y.dtype).tiny)


Results = Callable[[Tensor, Tensor, Tensor | None], Tensor]
Candidates = list[tuple[Tensor, Tensor | None]]


def _adaquant(
    layer: _Layer,
    weight: Tensor,
    bias: Tensor | None,
    data: tuple[Tensor, Tensor],
    results: Results,
    o: FinetuneOptions,
) -> Candidates:
    """Weights and bias by the straight-through gradient, with a rate that falls as a cosine."""
    w = weight.clone().requires_grad_()
    b = None if bias is None else bias.clone().requires_grad_()
    step = float(layer.weight_slot.scale().mean())
    groups: list[dict[str, Any]] = [{"params": [w], "lr": o.learning_rate * step}]
    if b is not None:
        groups.append({"params": [b], "lr": o.learning_rate * step})
    optimizer = torch.optim.Adam(groups)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, o.iterations)
    found: Candidates = []
    for number, (x, y) in enumerate(_batches(data, o)):
        optimizer.zero_grad()
        (results(x, layer.weight_slot(w), b) - y).square().mean().backward()
        optimizer.step()
        schedule.step()
        if number % max(o.iterations // 4, 1) == 0 or number == o.iterations - 1:
            found.append((w.detach().clone(), None if b is None else b.detach().clone()))
    return found


def _adaround(
    layer: _Layer,
    weight: Tensor,
    bias: Tensor | None,
    data: tuple[Tensor, Tensor],
    results: Results,
    o: FinetuneOptions,
) -> Candidates:
    """Weights rounded up or down, as a rectified sigmoid that is driven to 0 or 1 decides; the bias by its gradient."""
    slot = layer.weight_slot
    scale = slot.along(slot.scale(), weight)
    low, high = ((limit - slot.along(slot.zero_point, weight)) * scale for limit in slot.limits)
    base = torch.floor(weight / scale)
    rest = ((weight / scale - base).clamp(0.01, 0.99) - SHIFT) / STRETCH
    v = torch.log(rest / (1 - rest)).requires_grad_()
    b = None if bias is None else bias.clone().requires_grad_()
    groups: list[dict[str, Any]] = [{"params": [v], "lr": 1e-2}]
    if b is not None:
        groups.append({"params": [b], "lr": o.learning_rate * float(scale.mean())})
    optimizer = torch.optim.Adam(groups)
    for number, (x, y) in enumerate(_batches(data, o)):
        up = (torch.sigmoid(v) * STRETCH + SHIFT).clamp(0, 1)
        w = torch.minimum(torch.maximum((base + up) * scale, low), high)
        loss = (results(x, w, b) - y).square().flatten(1).sum(1).mean()
        done = number / o.iterations
        if done > WARM:
            power = FLATTEST + (STEEPEST - FLATTEST) * (1 + np.cos(np.pi * (done - WARM) / (1 - WARM))) / 2
            loss = loss + REGULARIZATION * (1 - (2 * up - 1).abs().pow(power)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    hard = (base + (v > 0).to(base.dtype)) * scale
    return [(hard.detach(), None if b is None else b.detach())]


def _batches(data: tuple[Tensor, Tensor], o: FinetuneOptions) -> Any:
    x, y = data
    generator = torch.Generator().manual_seed(o.seed)
    for _ in range(o.iterations):
        picked = torch.randint(len(x), (min(o.batch_size, len(x)),), generator=generator)
        yield x[picked], y[picked]
