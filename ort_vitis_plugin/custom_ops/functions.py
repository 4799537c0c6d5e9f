"""Model-local functions with which a model runs where the custom-op library is not registered, giving the same bits.

ORT prefers a registered kernel to a function of the same domain and name. Below IR 10 there is one body per name, and
ORT before 1.24 types every node by the first body even where IR 10 gives several, so a body serves all nodes of its
name: it is specialised by what these nodes have in common, and generic in the zero point's type where that differs.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

from ort_vitis_plugin.custom_ops.body import Body
from ort_vitis_plugin.errors import ModelError, UnsupportedError

VAI_DOMAIN = "com.vai.quantize"
QUARK_DOMAIN = "com.amd.quark"
CONTRIB_DOMAIN = "ai.onnx.contrib"

QUANTIZE = frozenset(
    {
        (VAI_DOMAIN, "VitisQuantizeLinear"),
        (QUARK_DOMAIN, "ExtendedQuantizeLinear"),
        (CONTRIB_DOMAIN, "QuantizeLinear"),
    }
)
DEQUANTIZE = frozenset(
    {
        (VAI_DOMAIN, "VitisDequantizeLinear"),
        (QUARK_DOMAIN, "ExtendedDequantizeLinear"),
        (CONTRIB_DOMAIN, "DequantizeLinear"),
    }
)
FIX_NEURON = frozenset({(VAI_DOMAIN, "FixNeuron"), (CONTRIB_DOMAIN, "FixNeuron")})
OURS = QUANTIZE | DEQUANTIZE | FIX_NEURON

_RANGES: dict[int, tuple[int, int]] = {
    TensorProto.UINT8: (0, 2**8 - 1),
    TensorProto.INT8: (-(2**7), 2**7 - 1),
    TensorProto.UINT16: (0, 2**16 - 1),
    TensorProto.INT16: (-(2**15), 2**15 - 1),
    TensorProto.UINT32: (0, 2**32 - 1),
    TensorProto.INT32: (-(2**31), 2**31 - 1),
}
_UNSIGNED = frozenset({TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32})
_LONG = frozenset({TensorProto.UINT32, TensorProto.INT32})  # what float32 cannot hold
_HALF_LIMITS: dict[int, NDArray[np.float32]] = {
    TensorProto.FLOAT16: np.array(65504.0, np.float32),
    TensorProto.BFLOAT16: np.array(3.38953139e38, np.float32),
}
STORAGE_TYPES: frozenset[int] = frozenset({*_RANGES, *_HALF_LIMITS})

_DEFAULTS: dict[str, int | str] = {"axis": 1, "bit_width": "8", "pos": ""}

_MIXED_OPSET = 15  # CastLike
_AXIS_OPSET = 13
_BFLOAT16_OPSET = 13


@dataclass(frozen=True)
class Use:
    """What all nodes of one domain and name have in common."""

    domain: str
    op_type: str
    types: frozenset[int]
    per_axis: bool
    zero_point: bool
    bit_widths: frozenset[int] = frozenset()
    attributes: tuple[str, ...] = ()

    @property
    def mixed(self) -> bool:
        """Whether the body must find out the type by itself."""
        if (self.domain, self.op_type) in QUANTIZE:
            return len(self.types) > 1
        if (self.domain, self.op_type) in FIX_NEURON and not self.native:
            return bool(self.types & _UNSIGNED) and not self.types <= _UNSIGNED
        return False

    @property
    def native(self) -> bool:
        """FixNeuron and the pair of ai.onnx.contrib are ORT's own 8-bit ops where these can say it."""
        eight_bits = self.types <= {TensorProto.INT8, TensorProto.UINT8}
        return self.domain == CONTRIB_DOMAIN and eight_bits and self.bit_widths <= {8}

    @property
    def opset(self) -> int:
        """The lowest opset of the default domain in which the body can be written."""
        return max(
            10,
            _MIXED_OPSET if self.mixed else 0,
            _AXIS_OPSET if self.per_axis or len(self.bit_widths) > 1 else 0,
            _BFLOAT16_OPSET if TensorProto.BFLOAT16 in self.types else 0,
        )


def _parameters(body: Body, use: Use) -> tuple[str, str, str]:
    """Scale and zero point as they broadcast against x, and the shape that aligned them ('' for scalars)."""
    if not use.per_axis:
        return body.scalar("scale"), body.scalar("zero_point") if use.zero_point else "", ""
    shape = body.alignment("x")
    scale = body.call("Reshape", "scale", shape)
    return scale, body.call("Reshape", "zero_point", shape) if use.zero_point else "", shape


def _finish(body: Body, use: Use, result: str) -> None:
    """The function's output; a vector of one scale must not raise the rank of a scalar x."""
    if use.per_axis:
        body.call("Reshape", result, body.call("Shape", "x"), result="y")
    else:
        body.nodes[-1].output[0] = "y"


def _limits(body: Body, use: Use, wide: int) -> tuple[str, str]:
    """The smallest and the largest code of the zero point's type."""
    dtype = helper.tensor_dtype_to_np_dtype(wide)
    if len(use.types) == 1:
        low, high = _RANGES[next(iter(use.types))]
        return body.constant(np.array(low, dtype)), body.constant(np.array(high, dtype))
    # Cut to the type's width, the largest of these is its maximum and the least its minimum, whatever the type.
    ends = ((0x80, 0x8000, 0x80000000, 0), (0x7F, 0x7FFF, 0x7FFFFFFF, 0xFFFFFFFF))
    lows, highs = (
        [
            body.cast(body.call("CastLike", body.constant(np.array(end, np.int64)), "zero_point"), wide)
            for end in candidates
        ]
        for candidates in ends
    )
    return body.call("Min", *lows), body.call("Max", *highs)


def _integer_codes(body: Body, use: Use, ratio: str, zero_point: str) -> str:
    """round(clamp(ratio, low - zp, high - zp)) + zp, in float or double; NaN gives low."""
    narrow = len(use.types) == 1 and not use.types & _LONG
    wide = TensorProto.FLOAT if narrow else TensorProto.DOUBLE
    dtype = helper.tensor_dtype_to_np_dtype(wide)
    zero = body.cast(zero_point, wide) if zero_point else body.constant(np.array(0, dtype))
    low, high = _limits(body, use, wide)
    value = ratio if narrow else body.cast(ratio, wide)
    value = body.at_least(value, body.call("Sub", low, zero))
    value = body.call("Min", value, body.call("Sub", high, zero))
    return body.call("Add", body.rounded(value, wide), zero)


def _half_values(body: Body, use: Use, ratio: str, zero_point: str) -> str:
    """ratio - (0 - zp), which keeps -0.0 where zp is zero, clamped to what the 16-bit float holds."""
    zero = body.constant(np.array(0, np.float32))
    value = body.call("Sub", ratio, body.call("Sub", zero, body.cast(zero_point, TensorProto.FLOAT)))
    halves = use.types & _HALF_LIMITS.keys()
    limit, *rest = [body.constant(_HALF_LIMITS[half]) for half in sorted(halves)]
    if rest:  # float16 is the one in which bfloat16's largest value is an infinity
        largest = body.cast(body.call("CastLike", rest[0], "zero_point"), TensorProto.FLOAT)
        limit = body.call("Where", body.call("Greater", largest, rest[0]), limit, rest[0])
    return body.saturated(value, limit)


def _quantize(body: Body, use: Use) -> None:
    """q = saturate(round(x / scale) + zero_point) in the zero point's type."""
    scale, zero_point, _ = _parameters(body, use)
    ratio = body.call("Div", "x", scale)
    halves = use.types & _HALF_LIMITS.keys()
    if len(use.types) == 1:
        value = (_half_values if halves else _integer_codes)(body, use, ratio, zero_point)
        _finish(body, use, body.cast(value, next(iter(use.types))))
        return
    value = _integer_codes(body, use, ratio, zero_point) if use.types - halves else ""
    if halves:
        half = body.cast(_half_values(body, use, ratio, zero_point), TensorProto.DOUBLE)
        if value:  # 0.5 is a zero in every integer type
            probe = body.call("CastLike", body.constant(np.array(0.5, np.float32)), "zero_point")
            fraction = body.cast(probe, TensorProto.FLOAT)
            is_integer = body.call("Less", fraction, body.constant(np.array(0.25, np.float32)))
            half = body.call("Where", is_integer, value, half)
        value = half
    _finish(body, use, body.call("CastLike", value, "zero_point"))


def _dequantize(body: Body, use: Use) -> None:
    """y = float(q - zero_point) * scale; one body for all types, through double where 32 bits occur."""
    scale, zero_point, _ = _parameters(body, use)
    wide = TensorProto.DOUBLE if use.types & _LONG else TensorProto.FLOAT
    value = body.cast("x", wide)
    if zero_point:
        zero = body.cast(zero_point, wide)
        if use.types & _HALF_LIMITS.keys():  # 0 - (0 - zp) turns -0.0 into 0.0, and no optimizer removes it
            nothing = body.constant(np.array(0, helper.tensor_dtype_to_np_dtype(wide)))
            zero = body.call("Sub", nothing, body.call("Sub", nothing, zero))
        value = body.call("Sub", value, zero)
    if wide == TensorProto.DOUBLE:
        value = body.cast(value, TensorProto.FLOAT)
    _finish(body, use, body.call("Mul", value, scale))


def _fix_neuron_limits(body: Body, use: Use, wide: int) -> tuple[str, str]:
    """The code range of bit_width bits, signed as the zero point's type is."""
    dtype = helper.tensor_dtype_to_np_dtype(wide)
    one = body.constant(np.array(1, dtype))
    if len(use.bit_widths) == 1:
        codes = body.constant(np.array(2.0 ** next(iter(use.bit_widths)), dtype))
    else:
        width = body.cast(body.attribute("bit_width", AttributeProto.STRING), wide)
        codes = body.call("Pow", body.constant(np.array(2, dtype)), width)
    half = body.call("Mul", codes, body.constant(np.array(0.5, dtype)))
    nothing = body.constant(np.array(0, dtype))
    if use.mixed:
        minus_one = body.cast(body.call("CastLike", body.constant(np.array(-1, np.int64)), "zero_point"), wide)
        offset = body.call("Where", body.call("Less", minus_one, nothing), half, nothing)
    else:
        offset = nothing if use.types <= _UNSIGNED else half
    return body.call("Sub", nothing, offset), body.call("Sub", body.call("Sub", codes, offset), one)


def _fix_neuron(body: Body, use: Use) -> None:
    """y = clamp(round(x / scale), low - zp, high - zp) * scale."""
    scale, zero_point, _ = _parameters(body, use)
    narrow = not use.types & _LONG and max(use.bit_widths) <= 16
    wide = TensorProto.FLOAT if narrow else TensorProto.DOUBLE
    low, high = _fix_neuron_limits(body, use, wide)
    if zero_point:
        zero = body.cast(zero_point, wide)
        low, high = body.call("Sub", low, zero), body.call("Sub", high, zero)
    ratio = body.call("Div", "x", scale)
    value = body.at_least(ratio if narrow else body.cast(ratio, wide), low)
    value = body.rounded(body.call("Min", value, high), wide)
    if not narrow:
        value = body.cast(value, TensorProto.FLOAT)
    _finish(body, use, body.call("Mul", value, scale))


def _native(body: Body, use: Use) -> None:
    """The same by ORT's own 8-bit ops."""
    inputs = ["scale", "zero_point"] if use.zero_point else ["scale"]
    key = (use.domain, use.op_type)
    if key in FIX_NEURON and not use.zero_point:  # ONNX would take uint8
        inputs.append(body.cast(body.call("Sub", "scale", "scale"), TensorProto.INT8))
    steps = [step for step, ops in (("QuantizeLinear", DEQUANTIZE), ("DequantizeLinear", QUANTIZE)) if key not in ops]
    value = "x"
    for step in steps:
        value = body.call(step, value, *inputs)
        if use.per_axis:
            body.refer("axis", "axis", AttributeProto.INT)
    body.nodes[-1].output[0] = "y"


def function_body(use: Use, opset: int) -> FunctionProto:
    """The function for the nodes of ``use`` in a model of ``opset``."""
    if opset < use.opset:
        raise UnsupportedError(
            f"{use.domain}:{use.op_type} as this model uses it needs opset {use.opset} or newer of the default domain "
            f"and the model has {opset}; raise it with onnx.version_converter.convert_version(model, {use.opset})"
        )
    body = Body(opset)
    key = (use.domain, use.op_type)
    if use.native:
        _native(body, use)
    elif key in QUANTIZE:
        _quantize(body, use)
    elif key in DEQUANTIZE:
        _dequantize(body, use)
    else:
        _fix_neuron(body, use)
    inputs = ["x", "scale", "zero_point"] if use.zero_point else ["x", "scale"]
    imports = [helper.make_opsetid("", opset)]
    return helper.make_function(use.domain, use.op_type, inputs, ["y"], body.nodes, imports, use.attributes)


class _Tensors:
    """Element types and sizes of named tensors, as far as the model states them."""

    def __init__(self, model: ModelProto) -> None:
        self.types: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self._read(model.graph)

    def _read(self, graph: GraphProto) -> None:
        for info in (*graph.input, *graph.value_info, *graph.output):
            tensor = info.type.tensor_type
            if tensor.elem_type:
                self.types[info.name] = tensor.elem_type
            dims = tensor.shape.dim
            if tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in dims):
                self.sizes[info.name] = int(np.prod([dim.dim_value for dim in dims], dtype=np.int64))
        for tensor_proto in graph.initializer:
            self._set(tensor_proto.name, tensor_proto)
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self._set(node.output[0], node.attribute[0].t)
            elif (node.domain, node.op_type) in QUANTIZE:
                self.types[node.output[0]] = self.types.get(node.input[2], 0) if _has(node, 2) else TensorProto.UINT8
            for subgraph in _subgraphs(node):
                self._read(subgraph)

    def _set(self, name: str, tensor: TensorProto) -> None:
        self.types[name] = tensor.data_type
        self.sizes[name] = int(np.prod(tensor.dims, dtype=np.int64))


def _has(node: NodeProto, index: int) -> bool:
    return len(node.input) > index and bool(node.input[index])


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _walk(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for graph in _subgraphs(node):
            yield from _walk(graph.node)


def _our_nodes(model: ModelProto) -> dict[tuple[str, str], list[NodeProto]]:
    """Nodes of our domains by domain and op type, also inside sub-graphs and other functions."""
    found: dict[tuple[str, str], list[NodeProto]] = {}
    bodies = [function.node for function in model.functions if (function.domain, function.name) not in OURS]
    for nodes in (model.graph.node, *bodies):
        for node in _walk(nodes):
            if (node.domain, node.op_type) in OURS:
                found.setdefault((node.domain, node.op_type), []).append(node)
    return found


def bit_width_of(node: NodeProto) -> int:
    """Attribute bit_width of a FixNeuron, an int or a string; 8 where absent."""
    for attribute in node.attribute:
        if attribute.name == "bit_width":
            value = helper.get_attribute_value(attribute)
            try:
                width = int(value)
            except ValueError:
                width = 0
            if not 1 <= width <= 32:
                raise ModelError(
                    f"FixNeuron node '{node.name}': bit_width is {value!r}; it must be an integer from 1 to 32"
                )
            return width
    return 8


def _zero_point_type(key: tuple[str, str], node: NodeProto, tensors: _Tensors) -> frozenset[int]:
    """The type of the node's zero point; all types where the model does not say it."""
    if _has(node, 2):
        known = tensors.types.get(node.input[2], 0)
    elif key in DEQUANTIZE:
        known = tensors.types.get(node.input[0], 0)
    else:
        known = TensorProto.UINT8 if key in QUANTIZE else TensorProto.INT8
    allowed = STORAGE_TYPES if key not in FIX_NEURON else frozenset(_RANGES)
    if known and known not in allowed:
        name = TensorProto.DataType.Name(known)
        names = ", ".join(sorted(TensorProto.DataType.Name(storage) for storage in allowed))
        raise UnsupportedError(
            f"{node.op_type} node '{node.name}' has a zero point of type {name}; it must be one of {names}"
        )
    return frozenset({known}) if known else allowed


def _use(key: tuple[str, str], nodes: list[NodeProto], tensors: _Tensors) -> Use:
    per_axis = any(tensors.sizes.get(node.input[1]) != 1 for node in nodes)
    widths = frozenset(bit_width_of(node) for node in nodes) if key in FIX_NEURON else frozenset()
    stated = {attribute.name for node in nodes for attribute in node.attribute if attribute.name in _DEFAULTS}
    stated |= {name for name, needed in (("axis", per_axis), ("bit_width", len(widths) > 1)) if needed}
    return Use(
        domain=key[0],
        op_type=key[1],
        types=frozenset().union(*(_zero_point_type(key, node, tensors) for node in nodes)),
        per_axis=per_axis,
        zero_point=any(_has(node, 2) for node in nodes),
        bit_widths=widths,
        attributes=tuple(sorted(stated)),
    )


def _default_opset(model: ModelProto) -> int:
    return next((opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")), 1)


def _raise_opset(model: ModelProto, opset: int) -> bool:
    """Raise opset 13 or 14 to 15, where the ops that changed only gained types and optional attributes.

    BatchNormalization lost its training outputs in opset 14; a model that has them stays.
    """
    training = any(node.op_type == "BatchNormalization" and len(node.output) > 1 for node in _walk(model.graph.node))
    if not 13 <= _default_opset(model) < opset <= _MIXED_OPSET or training:
        return False
    for imports in (model.opset_import, *(function.opset_import for function in model.functions)):
        for entry in imports:
            if entry.domain in ("", "ai.onnx") and 13 <= entry.version < opset:
                entry.version = opset
    return True


def _settle_attributes(use: Use, nodes: list[NodeProto]) -> None:
    """Give every node the attributes that one of its name has, and bit_width as a string, the type in the schema.

    onnx's ReferenceEvaluator wants every attribute that a function declares on every node that calls it.
    """
    for node in nodes:
        present = {attribute.name: attribute for attribute in node.attribute}
        for name in use.attributes:
            if name not in present:
                node.attribute.append(helper.make_attribute(name, _DEFAULTS[name]))
        width = present.get("bit_width")
        if width is not None and width.type == AttributeProto.INT:
            width.CopyFrom(helper.make_attribute("bit_width", str(width.i)))


def _settle_zero_points(model: ModelProto, use: Use, nodes: list[NodeProto], tensors: _Tensors) -> None:
    """Give nodes without a zero point one of zeros, where others of the same name have one."""
    for node in nodes:
        if _has(node, 2) or not use.zero_point:
            del node.input[3 if use.zero_point else 2 :]
            continue
        types = _zero_point_type((use.domain, use.op_type), node, tensors)
        size = tensors.sizes.get(node.input[1])
        if len(types) > 1 or size is None:
            raise ModelError(
                f"{node.op_type} node '{node.name}' has no zero point and the model does not state its type; "
                "give it a zero point of zeros"
            )
        element_type = next(iter(types))
        name = f"{node.output[0]}_zero_point_of_zeros"
        dtype = helper.tensor_dtype_to_np_dtype(element_type)
        dims = [] if size == 1 else [size]
        model.graph.initializer.append(
            helper.make_tensor(name, element_type, dims, np.zeros(size, dtype).tobytes(), raw=True)
        )
        del node.input[2:]
        node.input.append(name)


def add_functions(model: ModelProto) -> None:
    """Give the model a function for every op of ours that it uses, and the opset imports that they need.

    Changes the model in place: functions of the same names are replaced, the IR version becomes at least 8, and opset
    13 or 14 becomes 15 where nodes of one name have different types.
    """
    found = _our_nodes(model)
    tensors = _Tensors(model)
    uses = {key: _use(key, nodes, tensors) for key, nodes in found.items()}
    needed = max((use.opset for use in uses.values()), default=0)
    if needed > _default_opset(model):
        _raise_opset(model, needed)
    functions = [function_body(use, _default_opset(model)) for use in uses.values()]
    for key, use in uses.items():
        _settle_attributes(use, found[key])
        _settle_zero_points(model, use, found[key], tensors)
    others = [function for function in model.functions if (function.domain, function.name) not in OURS]
    del model.functions[:]
    model.functions.extend([*others, *functions])
    imported = {opset.domain for opset in model.opset_import}
    model.opset_import.extend(helper.make_opsetid(domain, 1) for domain in sorted({key[0] for key in found} - imported))
    if functions:
        model.ir_version = max(model.ir_version, 8)


def model_functions(model: ModelProto) -> list[FunctionProto]:
    """The functions that ``add_functions`` would give the model, which stays as it is."""
    copy = ModelProto()
    copy.CopyFrom(model)
    add_functions(copy)
    return [function for function in copy.functions if (function.domain, function.name) in OURS]
