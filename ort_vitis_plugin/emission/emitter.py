"""Planned pairs become nodes and initializers; names are those that other tools rely on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from ..graph import subgraphs
from ..graph.clip_limits import clip_limits
from ..plan import TensorPlan
from ..plan.int32_bias import by_channel
from . import clip_metadata
from .pair_writer import CONVERT, Pair

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from ..graph import Skip
    from ..plan import Conversion, Int32Bias, Plan
    from ..plan.marks import Marks
    from .pair_writer import PairWriter


# onnxruntime carries a pair on through these, and aborts the process where it then meets a body that reads the tensor.
CARRYING = frozenset({"MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"})


Read = tuple["NodeProto", tuple[int, ...]]


class Emitter:
    """Writes one plan into its graph: where pairs stand and who reads them is decided here, how they look by a writer.

    ``qdq_model`` is the written model as its writer gets it, before operators take the place of pairs.
    """

    def __init__(self, plan: Plan, marks: Marks, writer: PairWriter) -> None:
        self.plan, self.marks, self.writer = plan, marks, writer
        self.graph = plan.graph
        self.qdq_model: ModelProto | None = None
        self._clamps: dict[tuple[int, int], tuple[NodeProto, clip_metadata.Limits]] = {}

    def emit(self, skips: list[Skip]) -> ModelProto:
        """The written model; ``skips`` takes what the writer declined, and why."""
        for node in self.plan.removed.values():
            self._remove(node)
        for planned in list(self.plan):
            if planned.has_codes:
                continue
            if planned.derived is not None:
                self._int32_bias(planned, planned.derived)
            elif self.graph.is_constant(planned.name):
                self._constant(planned)
            else:
                self._activation(planned)
        model = self.graph.write_back()
        self._define(model)
        clamps = {producer.output[at]: limits for (_, at), (producer, limits) in self._clamps.items()}
        clip_metadata.keep(model, clamps)
        self.qdq_model = model
        return self.writer.finish(model, skips)

    def _define(self, model: ModelProto) -> None:
        """Import the domains of the pairs, and add the functions that define their operators."""
        domains = sorted(self.writer.domains)
        for domain in domains:
            if domain and all(entry.domain != domain for entry in model.opset_import):
                model.opset_import.append(helper.make_opsetid(domain, 1))
        known = {(function.domain, function.name) for function in model.functions}
        needed = [function for function in self.writer.functions() if function.domain in domains]
        model.functions.extend(function for function in needed if (function.domain, function.name) not in known)

    # ------------------------------------------------------------------ one tensor

    def _activation(self, planned: TensorPlan) -> None:
        name = planned.name
        is_float = self._is_float(name)  # asked before an output's producer gets another name to write
        source, readers, is_output = self._open(name)
        past = [r for r in readers if self._carries_into_a_body(r) or (is_float and r.name in self.plan.float_readers)]
        for reader in past:
            readers.remove(reader)
            self._read(reader, name, source)
        parameters = self.plan.of(name) or planned
        target = name if is_output else ""
        if planned.conversion is not None:
            self._converted(Pair(name, parameters, source, target), planned.conversion, readers)
            return
        if self.marks.dedicated_pairs and len(readers) + is_output > 1:
            for number, reader in enumerate(readers, 1):
                self._pairs(Pair(name, parameters, source, suffix=f"_{number}"), [reader])
            if is_output:
                self._pairs(Pair(name, parameters, source, name, f"_{len(readers) + 1}"), [])
            return
        self._pairs(Pair(name, parameters, source, target), readers)

    def _pairs(self, pair: Pair, readers: list[NodeProto]) -> str:
        """One pair for each axis that readers want; returns what the first one gives, which any other may read."""
        first = ""
        for number, (axis, reads) in enumerate(self._by_axis(pair, readers).items()):
            parameters = pair.parameters if axis is None else replace(pair.parameters, axis=axis)
            further = {"suffix": f"{pair.suffix}_axis{axis}", "target": ""} if number else {}
            end = self.writer.write_pair(replace(pair, parameters=parameters, **further))
            for reader, at in reads:
                self._read_at(reader, pair.tensor, at, end)
            first = first or end
        return first

    def _by_axis(self, pair: Pair, readers: list[NodeProto]) -> dict[int | None, list[Read]]:
        """Who reads a pair, and through which inputs (none: wherever its name stands), by the axis that is wanted."""
        shape = self.graph.shape(pair.tensor)
        found: dict[int | None, list[Read]] = {}
        any_axis: list[Read] = []
        for reader in readers:
            wanted: dict[int | None, list[int]] = {}
            for index in (index for index, tensor in enumerate(reader.input) if tensor == pair.tensor):
                axis = self.writer.read_axis(pair, reader, index)
                wanted.setdefault(axis if axis is None or not shape else axis % len(shape), []).append(index)
            rest = wanted.pop(None, [])
            if not wanted:
                any_axis.append((reader, ()))
            elif len(wanted) > 1:
                next(iter(wanted.values())).extend(rest)
            for axis, at in wanted.items():
                found.setdefault(axis, []).append((reader, tuple(at) if len(wanted) > 1 else ()))
        first = next(iter(found), self.writer.own_axis(pair))
        found.setdefault(first, []).extend(any_axis)
        return found

    def _read_at(self, reader: NodeProto, old: str, at: tuple[int, ...], new: str) -> None:
        if not at:
            self._read(reader, old, new)
            return
        self.graph.set_inputs(reader, [new if index in at else name for index, name in enumerate(reader.input)])

    def _is_float(self, name: str) -> bool:
        """Whether the tensor is float before its pair: an input, or what a node makes that is not computed in codes."""
        producer = self.graph.producer(name)
        if producer is None:
            return True
        computed = self.graph.simulated_node.get(producer.name, producer).name
        return computed not in self.marks.nodes and producer.name not in self.graph.device_nodes

    def _carries_into_a_body(self, node: NodeProto) -> bool:
        """Whether the node, itself float, stands between a pair and a body; it then reads what the pair reads."""
        if node.op_type not in CARRYING:
            return False
        ends = [name for name in node.output if name and self.plan.of(name) is None]
        readers = [reader for name in ends for reader in self.graph.consumers(name)]
        return any(bool(subgraphs(reader)) or self._carries_into_a_body(reader) for reader in readers)

    def _open(self, name: str) -> tuple[str, list[NodeProto], bool]:
        """The tensor to quantize, its readers, and whether it is a graph output (its name then goes to the pair)."""
        readers = self.graph.consumers(name)
        producer = self.graph.producer(name)
        if name not in self.graph.outputs or producer is None:
            return name, readers, False
        source = self.graph.unique(f"{name}_QuantizeLinear_Input")
        self.graph.set_outputs(producer, [source if tensor == name else tensor for tensor in producer.output])
        self.graph.describe(source, self.graph.element_type(name), self.graph.shape(name))
        return source, readers, True

    def _converted(self, pair: Pair, conversion: Conversion, readers: list[NodeProto]) -> None:
        """Readers of the other type get a second pair behind the first; so does a graph output where all readers do."""
        takes = [reader for reader in readers if conversion.receivers is None or reader.name in conversion.receivers]
        keeps = [reader for reader in readers if reader not in takes]
        at_first, at_second = (pair.target, "") if keeps or conversion.receivers is not None else ("", pair.target)
        role = pair.parameters.role
        other = TensorPlan(pair.tensor, role, conversion.kind, conversion.scale, conversion.zero_point)
        needs_first = keeps or at_first or not conversion.from_float
        first = self._pairs(replace(pair, target=at_first), keeps) if needs_first else ""
        source = pair.source if conversion.from_float else first
        self._pairs(Pair(pair.tensor, other, source, at_second, CONVERT), takes)

    def _constant(self, planned: TensorPlan) -> None:
        """Nodes left float keep reading the float constant."""
        name = planned.name
        readers = [node for node in self.graph.consumers(name) if node.name in self.marks.nodes]
        array = self.graph.array(name)
        assert array is not None
        for axis, reads in self._by_axis(Pair(name, planned, name), readers).items():
            end = self.writer.write_constant(planned if axis is None else replace(planned, axis=axis), array)
            for reader, at in reads:
                self._read_at(reader, name, at, end)

    def _int32_bias(self, planned: TensorPlan, derived: Int32Bias) -> None:
        """Its scale is x * w * beta, as these are now."""
        array, scale = self.graph.array(planned.name), self.plan.product_scale(derived)
        if array is None or scale is None:
            return
        if scale.ndim == 1:
            rows = by_channel(array, scale.size)
            if array.ndim == 1 and rows.ndim == 2:
                scale = np.tile(scale, len(rows))
            else:
                array = rows
        self.writer.write_bias(planned.name, array, scale)

    def _remove(self, node: NodeProto) -> None:
        """The producer writes what the activation wrote."""
        x, y = node.input[0], node.output[0]
        producer = self.graph.producer(x)
        assert producer is not None
        at = list(producer.output).index(x)
        _, before = self._clamps.get((id(producer), at), (producer, (None, None)))
        self._clamps[id(producer), at] = producer, clip_metadata.composed(before, clip_limits(self.graph, node))
        self.graph.remove(node)
        self.graph.set_outputs(producer, [y if tensor == x else tensor for tensor in producer.output])

    def _read(self, reader: NodeProto, old: str, new: str) -> None:
        self.graph.redirect(reader, old, new)
