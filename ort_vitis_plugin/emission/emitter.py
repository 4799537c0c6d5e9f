"""The planned pairs become nodes and initializers; names are those that other tools rely on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ..graph import subgraphs
from ..graph.clip_limits import clip_limits
from ..numerics.qtypes import INT32, QType, storage_dtype
from ..numerics.quantize import along, quantize
from ..plan import Plan, Role, TensorPlan
from ..plan.int32_bias import by_channel
from . import clip_metadata

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from ..planning.marker import PlannedQDQQuantizer


# onnxruntime carries a pair on through these, and aborts the process where it then meets a body that reads the tensor.
CARRYING = frozenset({"MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"})


class Emission:
    """Writes one plan into one graph."""

    def __init__(self, quantizer: PlannedQDQQuantizer, plan: Plan) -> None:
        self.q, self.plan, self.graph = quantizer, plan, quantizer.graph
        self.domains: set[str] = set()
        self._parameters: dict[tuple[str, str, bool], tuple[str, str]] = {}
        self._clamps: dict[tuple[int, int], tuple[NodeProto, clip_metadata.Limits]] = {}

    def emit(self) -> ModelProto:
        for node in self.plan.removed.values():
            self._remove(node)
        for planned in list(self.plan):
            if planned.derived is not None:
                self._int32_bias(planned)
            elif self.graph.is_constant(planned.name):
                self._constant(planned)
            else:
                self._activation(planned)
        model = self.graph.write_back()
        for domain in sorted(self.domains):
            if domain and all(entry.domain != domain for entry in model.opset_import):
                model.opset_import.append(helper.make_opsetid(domain, 1))
        clamps = {producer.output[at]: limits for (_, at), (producer, limits) in self._clamps.items()}
        clip_metadata.keep(model, clamps)
        return model

    # ------------------------------------------------------------------ one tensor

    def _activation(self, planned: TensorPlan) -> None:
        name = planned.name
        source, readers, is_output = self._open(name)
        for reader in [reader for reader in readers if self._carries_into_a_body(reader)]:
            readers.remove(reader)
            self._read(reader, name, source)
        owner = self._owner(planned)
        if planned.conversion is not None:
            self._converted(planned, owner, source, readers, is_output)
            return
        if self.q.dedicated_qdq_pair and len(readers) + is_output > 1:
            for number, reader in enumerate(readers, 1):
                end = self._pair(planned, owner, source, "", f"_{number}")
                self._read(reader, name, end)
            if is_output:
                self._pair(planned, owner, source, name, f"_{len(readers) + 1}")
            return
        end = self._pair(planned, owner, source, name if is_output else "", "")
        for reader in readers:
            self._read(reader, name, end)

    def _carries_into_a_body(self, node: NodeProto) -> bool:
        """Whether the node, itself float, stands between a pair and a body; it then reads what the pair reads."""
        if node.op_type not in CARRYING:
            return False
        ends = [name for name in node.output if name and self.plan.of(name) is None]
        readers = [reader for name in ends for reader in self.graph.consumers(name)]
        return any(any(subgraphs(reader)) or self._carries_into_a_body(reader) for reader in readers)

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

    def _converted(
        self, planned: TensorPlan, owner: TensorPlan, source: str, readers: list[NodeProto], is_output: bool
    ) -> None:
        """Readers of the other type get a second pair behind the first."""
        conversion = planned.conversion
        assert conversion is not None
        takes = [reader for reader in readers if conversion.receivers is None or reader.name in conversion.receivers]
        keeps = [reader for reader in readers if reader not in takes]
        first = self._pair(planned, owner, source, planned.name if is_output else "", "")
        other = TensorPlan(planned.name, planned.role, conversion.kind, conversion.scale, conversion.zero_point)
        second = self._pair(other, other, first, "", "_convert")
        for reader in keeps:
            self._read(reader, planned.name, first)
        for reader in takes:
            self._read(reader, planned.name, second)

    def _constant(self, planned: TensorPlan) -> None:
        name = planned.name
        readers = [node for node in self.graph.consumers(name) if self._takes_quantized(node)]
        array = self.graph.array(name)
        assert array is not None
        if self.q.keeps_float_weights(planned.kind) or self.q.fuses_pairs or not planned.kind.is_integer:
            end = self._pair(planned, planned, name, "", "")
        else:
            stored = self._store(f"{name}_quantized", self._codes(planned, array), planned.kind)
            end = self._dequantize(planned, planned, stored, "", "")
        for reader in readers:
            self._read(reader, name, end)

    def _takes_quantized(self, node: NodeProto) -> bool:
        """Nodes left float keep reading the float constant."""
        return node.name in self.q.marked_nodes

    def _int32_bias(self, planned: TensorPlan) -> None:
        """round(b / (x * w * beta)) in int32; the dequantize node writes the bias's own name."""
        name, derived = planned.name, planned.derived
        array = self.graph.array(name)
        x, w = self.plan.of(derived.x) if derived else None, self.plan.of(derived.w) if derived else None
        if array is None or derived is None or x is None or w is None:
            return
        scale = np.asarray(x.scale, np.float64) * np.asarray(w.scale, np.float64) * derived.beta
        if scale.ndim == 1:
            rows = by_channel(array, scale.size)
            if array.ndim == 1 and rows.ndim == 2:
                scale = np.tile(scale, len(rows))
            else:
                array = rows
        info = np.iinfo(np.int32)
        codes = np.clip(np.rint(array.astype(np.float64) / scale), info.min, info.max).astype(np.int32)
        axis = array.ndim - 1 if scale.ndim else None
        own = TensorPlan(
            f"{name}_quantized", Role.BIAS, INT32, scale.astype(np.float32), np.zeros(scale.shape, np.int64), axis
        )
        is_half = array.dtype == np.float16
        source = self._store(f"{name}_quantized", codes, INT32)
        readers = self.graph.consumers(name)
        del self.graph.initializers[name]
        target = self.graph.unique(f"{name}_DequantizeLinear_Output") if is_half else name
        self._node(
            self.q.operator(INT32, dequantize=True),
            own,
            own,
            source,
            target,
            f"{name}_DequantizeLinear",
            force_float32=is_half,
        )
        if is_half:
            self.graph.make("Cast", [target], [name], f"{name}_Cast", to=TensorProto.FLOAT16)
        self.graph.describe(name, TensorProto.FLOAT16 if is_half else TensorProto.FLOAT, array.shape)
        assert readers

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

    # ------------------------------------------------------------------ nodes

    def _pair(self, planned: TensorPlan, owner: TensorPlan, source: str, target: str, suffix: str) -> str:
        """Quantize and dequantize ``source``; returns the name of the result."""
        name = planned.name
        quantize_op = self.q.operator(owner.kind, dequantize=False)
        if self.q.fuses_pairs:
            end = target or self.graph.unique(f"{name}_DequantizeLinear_Output{suffix}")
            self._node(
                self.q.quantize_op, planned, owner, source, end, f"{name}_DequantizeLinear{suffix}", suffix=suffix
            )
            self.graph.describe(end, self.graph.element_type(name), self.graph.shape(name))
            return end
        if self._is_half_concat(source):
            return self._pair_between_casts(planned, owner, source, target, suffix)
        middle = self.graph.unique(f"{name}_QuantizeLinear_Output{suffix}")
        self._node(quantize_op, planned, owner, source, middle, f"{name}_QuantizeLinear{suffix}", suffix=suffix)
        self.graph.describe(middle, planned.kind.element_type, self.graph.shape(name))
        return self._dequantize(planned, owner, middle, target, suffix)

    def _is_half_concat(self, tensor: str) -> bool:
        """onnxruntime fuses a Concat between pairs into QLinearConcat, which it has for float32 alone."""
        maker = self.graph.producer(tensor)
        is_half = self.graph.element_type(tensor) == TensorProto.FLOAT16
        return maker is not None and maker.op_type == "Concat" and is_half

    def _pair_between_casts(self, planned: TensorPlan, owner: TensorPlan, source: str, target: str, suffix: str) -> str:
        """A pair of float32 for a float16 tensor."""
        name, shape = planned.name, self.graph.shape(planned.name)
        wide, codes, back = (
            self.graph.unique(f"{name}_{part}{suffix}")
            for part in ("QuantizeLinear_Input", "QuantizeLinear_Output", "DequantizeLinear_Output")
        )
        end = target or self.graph.unique(f"{name}_Cast_Output{suffix}")
        types = {wide: TensorProto.FLOAT, codes: owner.kind.element_type, back: TensorProto.FLOAT}
        self.graph.make("Cast", [source], [wide], f"{name}_Cast{suffix}", to=TensorProto.FLOAT)
        for dequantize, x, y in ((False, wide, codes), (True, codes, back)):
            operator = self.q.operator(owner.kind, dequantize=dequantize)
            self._node(operator, planned, owner, x, y, f"{name}_{operator}{suffix}", suffix=suffix, force_float32=True)
        self.graph.make("Cast", [back], [end], f"{name}_Cast{suffix}", to=TensorProto.FLOAT16)
        for tensor, kind in {**types, end: TensorProto.FLOAT16}.items():
            self.graph.describe(tensor, kind, shape)
        return end

    def _dequantize(self, planned: TensorPlan, owner: TensorPlan, source: str, target: str, suffix: str) -> str:
        name = planned.name
        end = target or self.graph.unique(f"{name}_DequantizeLinear_Output{suffix}")
        dequantize_op = self.q.operator(owner.kind, dequantize=True)
        self._node(dequantize_op, planned, owner, source, end, f"{name}_DequantizeLinear{suffix}", suffix=suffix)
        if end != name:
            self.graph.describe(end, self.graph.element_type(name), self.graph.shape(name))
        return end

    def _node(
        self,
        op_type: str,
        planned: TensorPlan,
        owner: TensorPlan,
        source: str,
        target: str,
        node_name: str,
        *,
        suffix: str = "",
        force_float32: bool = False,
    ) -> None:
        domain = self.q.domain(planned.kind)
        self.domains.add(domain)
        attributes: dict[str, Any] = dict(self.q.pair_attributes(owner))
        if owner.axis is not None:
            attributes["axis"] = owner.axis
        is_half = self.graph.element_type(planned.name) == TensorProto.FLOAT16 and not force_float32
        scale, zero = self._scale_and_zero(owner, suffix if suffix == "_convert" else "", is_half=is_half)
        self.graph.make(op_type, [source, scale, zero], [target], node_name, domain=domain or None, **attributes)

    def _scale_and_zero(self, owner: TensorPlan, suffix: str, *, is_half: bool) -> tuple[str, str]:
        key = (owner.name, suffix, is_half)
        if key not in self._parameters:
            dtype = np.float16 if is_half else np.float32
            scale = self.graph.add_initializer(f"{owner.name}_scale{suffix}", owner.scale.astype(dtype))
            zero = self._store(f"{owner.name}_zero_point{suffix}", owner.zero_point, owner.kind)
            self._parameters[key] = (scale, zero)
        return self._parameters[key]

    def _owner(self, planned: TensorPlan) -> TensorPlan:
        return self.plan.of(planned.name) or planned

    def _codes(self, planned: TensorPlan, array: NDArray[Any]) -> NDArray[np.int64]:
        scale = along(planned.scale, array.ndim, planned.axis)
        zero = along(planned.zero_point, array.ndim, planned.axis)
        return quantize(array, scale, zero, planned.kind.limits())

    def _store(self, name: str, codes: NDArray[Any], kind: QType) -> str:
        """An initializer of the type's own element type (four-bit codes are packed)."""
        name = self.graph.unique(name)
        values = codes.astype(storage_dtype(kind))
        tensor = numpy_helper.from_array(values, name) if kind.bits >= 8 else _packed(name, kind, codes)
        self.graph.put_initializer(tensor)
        return name

    def _read(self, reader: NodeProto, old: str, new: str) -> None:
        self.graph.redirect(reader, old, new)


def _packed(name: str, kind: QType, codes: NDArray[Any]) -> TensorProto:
    return helper.make_tensor(name, kind.element_type, codes.shape, codes.reshape(-1).tolist())
