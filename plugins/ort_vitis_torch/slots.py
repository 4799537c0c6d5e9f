"""A written file says where quantizers sit and what they hold: its pairs become slots of a graph in float.

Nothing is decided here. Scales, zero points and codes are those of the file.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ort_vitis_plugin.api import CLAMPS, array_of

from .errors import OperatorError

DOMAIN = "ort_vitis_torch.slots"
CODES = "_quantized"

_LIMITS = {
    TensorProto.INT4: (-8, 7),
    TensorProto.UINT4: (0, 15),
    TensorProto.INT8: (-128, 127),
    TensorProto.UINT8: (0, 255),
    TensorProto.INT16: (-32768, 32767),
    TensorProto.UINT16: (0, 65535),
    TensorProto.INT32: (-(2**31), 2**31 - 1),
}


@dataclass(frozen=True)
class Slot:
    """Scale and zero point of the tensors that share them.

    ``factors`` are the slots of input and weight of a bias whose scale is their product (its own scale repeats it).
    ``highest`` is the upper bound of an activation that the saturation of these codes stands for: they must not
    reach beyond it.
    """

    key: str
    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    limits: tuple[int, int]
    axis: int | None = None
    is_constant: bool = False
    tensors: list[str] = field(default_factory=list)
    factors: tuple[str, str] | None = None
    highest: float | None = None

    @property
    def is_power_of_two(self) -> bool:
        """Whether every scale is 2^-p for an integer p."""
        return bool((np.frexp(self.scale)[0] == 0.5).all())

    @property
    def position(self) -> int:
        """p of a scalar scale 2^-p."""
        return 1 - int(np.frexp(self.scale)[1])


@dataclass(frozen=True)
class SlottedGraph:
    """The file in float, and its slots by key. FakeQuantize nodes carry the key of their slot as their name.

    ``constants`` maps the tensors that are quantized constants to the initializers that hold their float values.
    ``decoded`` are initializers that the file holds as codes.
    """

    model: ModelProto
    slots: dict[str, Slot]
    constants: dict[str, str]
    decoded: frozenset[str] = frozenset()


def slotted(written: ModelProto, weights: Mapping[str, NDArray[np.float32]] | None = None) -> SlottedGraph:
    """Turn the native pairs of ``written`` into slots.

    Without ``weights`` constants are frozen to the values of their codes. With ``weights``, floats by tensor name,
    they pass through slots of their own; constants without an entry there keep the values of their codes. Then
    activations that the file leaves to saturation are nodes again, because scales may change.
    """
    return _Reader(written, weights).read()


class _Reader:
    def __init__(self, written: ModelProto, weights: Mapping[str, NDArray[np.float32]] | None) -> None:
        self.weights = weights
        self.model = ModelProto()
        self.model.CopyFrom(written)
        self.initializers = {tensor.name: tensor for tensor in self.model.graph.initializer}
        self.producer = {name: node for node in self.model.graph.node for name in node.output}
        self.slots: dict[str, Slot] = {}
        self.key_of: dict[str, str] = {}
        self.added: list[TensorProto] = []
        self.constants: dict[str, str] = {}
        self.sources: set[str] = set()

    def read(self) -> SlottedGraph:
        nodes: list[NodeProto] = []
        for node in self.model.graph.node:
            if node.op_type == "QuantizeLinear" and node.domain in ("", "com.microsoft"):
                continue
            if node.op_type != "DequantizeLinear":
                nodes.append(node)
                continue
            replaced = self._constant(node) if node.input[0] in self.initializers else self._pair(node)
            nodes += [replaced] if replaced is not None else []
        graph = self.model.graph
        del graph.node[:]
        graph.node.extend(nodes)
        if self.weights is not None:
            self._tie_biases()
            self._restore_clips()
        graph.initializer.extend(self.added)
        read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
        for tensor in [tensor for tensor in graph.initializer if tensor.name not in read]:
            graph.initializer.remove(tensor)
        del graph.value_info[:]
        used = {key for node in graph.node if node.domain == DOMAIN for key in [node.name]}
        self.model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        slots = {key: slot for key, slot in self.slots.items() if key in used}
        return SlottedGraph(self.model, slots, self.constants, frozenset(tensor.name for tensor in self.added))

    def _restore_clips(self) -> None:
        listed = next((entry.value for entry in self.model.metadata_props if entry.key == CLAMPS), "{}")
        for tensor, bounds in json.loads(listed).items():
            at = next((at for at, node in enumerate(self.model.graph.node) if tensor in node.output), None)
            if at is None:
                continue
            if bounds[1] is not None:
                for key, slot in self.slots.items():
                    if tensor in slot.tensors:
                        self.slots[key] = replace(slot, highest=bounds[1])
            node = self.model.graph.node[at]
            free = f"{tensor}_unclipped"
            node.output[:] = [free if name == tensor else name for name in node.output]
            clip = helper.make_node("Clip", [free], [tensor], f"{tensor}_Clip")
            for side, bound in zip(("min", "max"), bounds, strict=True):
                clip.input.append(f"{tensor}_{side}" if bound is not None else "")
                if bound is not None:
                    self.added.append(numpy_helper.from_array(np.array(bound, np.float32), f"{tensor}_{side}"))
            self.model.graph.node.insert(at + 1, clip)

    def _slot(self, node: NodeProto, *, is_constant: bool) -> Slot:
        """The slot of a DequantizeLinear node; those that read the same scale share it."""
        key = node.input[1]
        if key not in self.slots:
            scale = self._value(node.input[1])
            codes = self.initializers.get(node.input[2]) if len(node.input) > 2 else None
            if codes is None or codes.data_type not in _LIMITS:
                raise OperatorError(f"{node.name}: its codes are no integers of a known type")
            axis = next((each.i for each in node.attribute if each.name == "axis"), 1)
            self.slots[key] = Slot(
                key,
                scale.astype(np.float32),
                self._value(node.input[2]).astype(np.int64),
                _LIMITS[codes.data_type],
                axis if scale.ndim else None,
                is_constant,
            )
        return self.slots[key]

    def _value(self, name: str) -> NDArray[np.float64]:
        if name not in self.initializers:
            raise OperatorError(
                f"the scale or zero point {name} is computed in the graph; the executor needs constants"
            )
        value: NDArray[np.float64] = array_of(self.initializers[name]).astype(np.float64)
        return value

    def _pair(self, node: NodeProto) -> NodeProto:
        quantize = self.producer.get(node.input[0])
        if quantize is None or quantize.op_type != "QuantizeLinear":
            raise OperatorError(f"{node.name} dequantizes what no QuantizeLinear node made; give a model in QDQ format")
        slot = self._slot(node, is_constant=False)
        slot.tensors.append(self._tensor_name(quantize, node))
        self.key_of[node.output[0]] = slot.key
        return helper.make_node("FakeQuantize", [quantize.input[0]], [node.output[0]], slot.key, domain=DOMAIN)

    def _tensor_name(self, quantize: NodeProto, dequantize: NodeProto) -> str:
        """What the float graph calls the tensor: a pair at the graph's end carries the output's name."""
        outputs = {value.name for value in self.model.graph.output}
        return str(dequantize.output[0] if dequantize.output[0] in outputs else quantize.input[0])

    def _constant(self, node: NodeProto) -> NodeProto | None:
        slot = self._slot(node, is_constant=True)
        name = node.input[0].removesuffix(CODES)
        codes = self._value(node.input[0])
        values = (codes - _along(slot.zero_point, codes, slot.axis)) * _along(slot.scale, codes, slot.axis)
        if self.weights is None:
            self.added.append(numpy_helper.from_array(values.astype(np.float32), node.output[0]))
            return None
        slot.tensors.append(name)
        original = self._original(name, values, slot)
        source = original if original not in self.producer else f"{original}_float"
        if source not in self.sources:
            self.sources.add(source)
            held = self.weights.get(original, values)
            self.added.append(numpy_helper.from_array(held.astype(np.float32), source))
        self.constants[original] = source
        self.key_of[node.output[0]] = slot.key
        return helper.make_node("FakeQuantize", [source], [node.output[0]], slot.key, domain=DOMAIN)

    def _original(self, name: str, values: NDArray[np.float64], slot: Slot) -> str:
        """The tensor that was quantized: where several nodes share a constant, some read a numbered copy of it."""
        assert self.weights is not None
        if name in self.weights and self.weights[name].shape == values.shape:
            return name
        step = float(np.max(slot.scale))
        for known in sorted(self.weights, key=len, reverse=True):
            array = self.weights[known]
            if name.startswith(known) and array.shape == values.shape and np.abs(array - values).max() <= step:
                return known
        return name

    def _tie_biases(self) -> None:
        """The scale of an int32 bias is that of its node's input times that of its weight."""
        for node in self.model.graph.node:
            if node.domain == DOMAIN or len(node.input) < 3:
                continue
            keys = [self.key_of.get(name) for name in node.input[:3]]
            bias = self.slots.get(keys[2] or "")
            if bias is None or bias.limits != _LIMITS[TensorProto.INT32] or keys[0] is None or keys[1] is None:
                continue
            self.slots[bias.key] = replace(bias, factors=(keys[0], keys[1]))


def _along(parameter: NDArray[Any], array: NDArray[np.float64], axis: int | None) -> NDArray[Any]:
    if axis is None or parameter.ndim == 0:
        return parameter
    return parameter.reshape([-1 if dim == axis % array.ndim else 1 for dim in range(array.ndim)])
