"""A pair is what a tensor passes to lose what its codes cannot hold: a quantize node and a dequantize node behind it.

A format is a subclass of PairWriter. What it does not say is as in onnxruntime: two nodes with a scale and a zero point
each, weights as codes with a dequantize node, int32 biases with the scale of the product.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from onnx import TensorProto, helper

from ..errors import ModelError
from ..graph.nodes import MICROSOFT
from ..graph.opsets import WIDE_OPSET
from ..numerics.qtypes import INT32, QType, Scaling, storage_dtype
from ..numerics.quantize import quantize, round_to_float
from ..onnx_io.ort_support import has_native_pairs
from ..options.ort_options import OrtOptions
from ..plan import Role, TensorPlan
from ..plan.affine import Affine, affine, linear, rounded_up, with_float_scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray
    from onnx import FunctionProto, ModelProto, NodeProto

    from ..graph import Graph, Skip
    from ..options.options import Options

# From here on QuantizeLinear states its type without a zero point. With one (float8 has it since opset 19) onnxruntime
# 1.32 takes the 0 for the least code: it drops a Relu before the pair, and does not load a Clip.
FLOAT8_OPSET = 21
# Their DequantizeLinear may leave the zero point out.
ONNX_DOMAINS = ("", MICROSOFT)
# Suffix of the pair of those readers that take a tensor in another type: it has parameters of its own.
CONVERT = "_convert"


class Device(Protocol):
    """What a writer asks of the target."""

    @property
    def bias_as_weight(self) -> bool: ...

    @property
    def own_parameters(self) -> bool: ...


class PairSettings(Protocol):
    """What a writer asks of the call."""

    @property
    def options(self) -> Options: ...

    @property
    def target(self) -> Device: ...

    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class Pair:
    """One pair to write: what ``source`` names is quantized with these parameters, on behalf of a tensor.

    The parameters may be those of another tensor. The result is called ``target`` where that is not empty; ``suffix``
    tells several pairs of one tensor apart.
    """

    tensor: str
    parameters: TensorPlan
    source: str
    target: str = ""
    suffix: str = ""


class Multiples(NamedTuple):
    """The numbers n * step, low <= n <= high; ``step`` is a scalar, or has the shape of what is rounded."""

    step: NDArray[np.float32]
    low: int
    high: int


class PairWriter:
    """Writes the pairs, constants and biases of one graph.

    A subclass may change: ``quantize_op`` and ``dequantize_op``; ``is_one_node`` (one node quantizes and dequantizes;
    ``writes_one_node`` where that depends on the type);
    ``power_of_two_scales`` (whatever the method); ``takes_float16`` (tensors); ``needs_native_pairs`` (of the
    installed onnxruntime); ``minimum_opset`` (to which older models are raised first); ``keeps_stored_codes`` (of
    weights that come with a DequantizeLinear); ``has_zero_points`` (without them every tensor is symmetric);
    ``owns_parameters`` (the initializers of a pair bear its own tensor's name, also where several tensors share
    parameters); ``has_blocks`` (parameters for blocks of a matrix); ``writes_operators`` (in the place of pairs);
    ``ignores`` (keys of options that say how pairs look, and that this format has no use for).
    """

    quantize_op = "QuantizeLinear"
    dequantize_op = "DequantizeLinear"
    is_one_node = False
    power_of_two_scales = False
    takes_float16 = True
    needs_native_pairs = False
    minimum_opset = 0
    owns_parameters = False
    ignores: ClassVar[frozenset[str]] = frozenset()
    keeps_stored_codes = True
    has_zero_points = True
    has_blocks = True
    writes_operators = False

    def __init__(self, settings: PairSettings, graph: Graph) -> None:
        self.settings, self.graph = settings, graph
        self.asked = settings.options[OrtOptions]
        self.opset = graph.opset
        self.domains: set[str] = set()
        self._parameters: dict[tuple[str, str, bool], tuple[str, ...]] = {}

    # ------------------------------------------------------------------ what a format says of itself

    def writes_one_node(self, kind: QType) -> bool:
        """Whether one node is the whole pair of this type."""
        return self.is_one_node

    def read_axis(self, pair: Pair, reader: NodeProto, index: int) -> int | None:
        """The axis along which the ``index``-th input of a reader wants the pair's attribute ``axis``; None: any.

        Readers that want different axes get a pair each.
        """
        return None

    def own_axis(self, pair: Pair) -> int | None:
        """The axis of a pair whose readers want none; None: as planned."""
        return None

    def kind_of(self, tensor: str, kind: QType) -> QType:
        """The type of an activation for which the call has ``kind``; another where that holds more in as many bits."""
        return kind

    @classmethod
    def constant_grid(cls, node: NodeProto, array: NDArray[np.float32]) -> Multiples | None:
        """Values that a constant may take with ``node`` behind it giving the same back; None where no even steps do.

        ``node`` is the one node of a pair, ``array`` [...] is the constant.
        """
        return None

    @classmethod
    def opset_for(cls, kinds: Iterable[QType]) -> int:
        """The least opset in which pairs of these types can be written."""
        has_float8 = any(kind.scaling is Scaling.LINEAR for kind in kinds)
        return max(cls.minimum_opset, FLOAT8_OPSET) if has_float8 else cls.minimum_opset

    def domain(self, kind: QType) -> str:
        """The operator domain of a pair; onnxruntime's for 4 and 16 bits below opset 21, and for opsets ahead of it."""
        if kind.scaling is Scaling.LINEAR:
            return ""
        if self.asked.use_qdq_contrib_ops or not has_native_pairs(self.opset):
            return MICROSOFT
        return MICROSOFT if kind.bits not in (8, 32) and self.opset < WIDE_OPSET else ""

    def operator(self, kind: QType, *, dequantize: bool) -> str:
        """The op type of one half of a pair."""
        return self.dequantize_op if dequantize else self.quantize_op

    def keeps_float_weights(self, kind: QType) -> bool:
        """Whether weights stay float with a pair behind them, instead of codes with a dequantize node."""
        return bool(self.asked.add_qdq_pair_to_weight) and kind != INT32

    def has_product_bias(self, weight: QType) -> bool:
        """Whether biases beside weights of this type are int32 with scale x * w."""
        return weight.is_integer and not self.settings.target.bias_as_weight

    def bias_kind(self, weight: QType) -> QType | None:
        """The type of other biases, with parameters of their own; None leaves them float.

        Beside float8 it is int32: a float bias onnxruntime 1.32 would give the scale x * w, at which it overflows.
        """
        if weight.scaling is Scaling.LINEAR:
            return INT32
        return None if weight.scaling is Scaling.NONE else weight

    def attributes(self, planned: TensorPlan, *, dequantize: bool) -> Mapping[str, object]:
        """Attributes of one half of a pair, or of its one node, besides ``axis``."""
        one_node = self.writes_one_node(planned.kind)
        states_type = planned.kind.scaling is Scaling.LINEAR and not dequantize and not one_node
        return {"output_dtype": planned.kind.element_type} if states_type else {}

    def parameters(
        self, low: float, high: float, kind: QType, limits: tuple[int, int], *, symmetric: bool, powers: bool
    ) -> Affine:
        """The scale and zero point that are stored for a tensor with values in [low, high].

        ``limits`` are the codes that may be used; with ``powers`` the scale must be a power of two.
        """
        if kind.scaling is Scaling.LINEAR:
            given, symmetric = linear(low, high, kind), True
        else:
            choose = affine if powers else with_float_scale
            given = choose(low, high, kind, limits, symmetric=symmetric)
        return rounded_up(given, low, limits, symmetric=symmetric) if powers else given

    def functions(self) -> Iterable[FunctionProto]:
        """Model-local functions that define the operators; those of domains in use go into the model."""
        return ()

    def finish(self, model: ModelProto, skips: list[Skip]) -> ModelProto:
        """The written model, from the model of pairs; ``skips`` takes what was declined, and why."""
        return model

    # ------------------------------------------------------------------ writing

    def write_pair(self, pair: Pair) -> str:
        """Quantize and dequantize a tensor; returns the name of the result."""
        name, kind = pair.tensor, pair.parameters.kind
        if self.writes_one_node(kind):
            end = pair.target or self.graph.unique(f"{name}_DequantizeLinear_Output{pair.suffix}")
            self._node(pair, end, f"{name}_DequantizeLinear{pair.suffix}")
            self.graph.describe(end, self.graph.element_type(name), self.graph.shape(name))
            return end
        if self._is_half_concat(pair.source):
            return self._pair_between_casts(pair)
        middle = self.graph.unique(f"{name}_QuantizeLinear_Output{pair.suffix}")
        self._node(pair, middle, f"{name}_QuantizeLinear{pair.suffix}")
        self.graph.describe(middle, kind.element_type, self.graph.shape(name))
        return self._dequantize(replace(pair, source=middle))

    def write_constant(self, planned: TensorPlan, array: NDArray[Any]) -> str:
        """Codes and a dequantize node, or a pair behind the float constant; returns the name of the result.

        ``array`` are the constant's floats, of its own shape.
        """
        kind = planned.kind
        has_codes = kind.scaling in (Scaling.AFFINE, Scaling.LINEAR) and not self.writes_one_node(kind)
        if not has_codes or self.keeps_float_weights(kind):
            return self.write_pair(Pair(planned.name, planned, planned.name))
        stored = self.store(f"{planned.name}_quantized", _codes(planned, array), kind)
        return self._dequantize(Pair(planned.name, planned, stored))

    def write_bias(self, name: str, array: NDArray[Any], scale: NDArray[np.float64]) -> None:
        """round(b / scale) in int32; the dequantize node writes the bias's own name.

        ``array`` [M] are the bias's floats, ``scale`` is a scalar or [M], one entry for each output channel.
        """
        info = np.iinfo(np.int32)
        codes = np.clip(np.rint(array.astype(np.float64) / scale), info.min, info.max).astype(np.int32)
        zeros = np.zeros(scale.shape, np.int64)
        axis = array.ndim - 1 if scale.ndim else None
        own = TensorPlan(f"{name}_quantized", Role.BIAS, INT32, scale.astype(np.float32), zeros, axis)
        is_half = array.dtype == np.float16
        source = self.store(f"{name}_quantized", codes, INT32)
        del self.graph.initializers[name]
        target = self.graph.unique(f"{name}_DequantizeLinear_Output") if is_half else name
        pair = Pair(own.name, own, source)
        self._node(pair, target, f"{name}_DequantizeLinear", dequantize=True, force_float32=is_half)
        if is_half:
            self.graph.make("Cast", [target], [name], f"{name}_Cast", to=TensorProto.FLOAT16)
        self.graph.describe(name, TensorProto.FLOAT16 if is_half else TensorProto.FLOAT, array.shape)

    def store(self, name: str, codes: NDArray[Any], kind: QType) -> str:
        """An initializer of the type's own element type (four-bit codes are packed); ``codes`` have its shape."""
        name = self.graph.unique(name)
        if kind.bits < 8:
            tensor = _packed(name, kind, codes)
        else:
            raw = codes.astype(storage_dtype(kind)).tobytes()
            tensor = helper.make_tensor(name, kind.element_type, codes.shape, raw, raw=True)
        self.graph.put_initializer(tensor)
        return name

    # ------------------------------------------------------------------ nodes

    def _is_half_concat(self, tensor: str) -> bool:
        """onnxruntime fuses a Concat between pairs into QLinearConcat, which it has for float32 alone."""
        maker = self.graph.producer(tensor)
        is_half = self.graph.element_type(tensor) == TensorProto.FLOAT16
        return maker is not None and maker.op_type == "Concat" and is_half

    def _pair_between_casts(self, pair: Pair) -> str:
        """A pair of float32 for a float16 tensor."""
        name, kind, suffix = pair.tensor, pair.parameters.kind, pair.suffix
        wide, codes, back = (
            self.graph.unique(f"{name}_{part}{suffix}")
            for part in ("QuantizeLinear_Input", "QuantizeLinear_Output", "DequantizeLinear_Output")
        )
        end = pair.target or self.graph.unique(f"{name}_Cast_Output{suffix}")
        types = {wide: TensorProto.FLOAT, codes: kind.element_type, back: TensorProto.FLOAT}
        self.graph.make("Cast", [pair.source], [wide], f"{name}_Cast{suffix}", to=TensorProto.FLOAT)
        for dequantize, x, y in ((False, wide, codes), (True, codes, back)):
            part = f"{name}_{self.operator(kind, dequantize=dequantize)}{suffix}"
            self._node(replace(pair, source=x), y, part, dequantize=dequantize, force_float32=True)
        self.graph.make("Cast", [back], [end], f"{name}_Cast{suffix}", to=TensorProto.FLOAT16)
        for tensor, element_type in {**types, end: TensorProto.FLOAT16}.items():
            self.graph.describe(tensor, element_type, self.graph.shape(name))
        return end

    def _dequantize(self, pair: Pair) -> str:
        name = pair.tensor
        end = pair.target or self.graph.unique(f"{name}_DequantizeLinear_Output{pair.suffix}")
        self._node(pair, end, f"{name}_DequantizeLinear{pair.suffix}", dequantize=True)
        if end != name:
            self.graph.describe(end, self.graph.element_type(name), self.graph.shape(name))
        return end

    def _node(
        self, pair: Pair, target: str, name: str, *, dequantize: bool = False, force_float32: bool = False
    ) -> None:
        planned = pair.parameters
        domain = self.domain(planned.kind)
        self.domains.add(domain)
        attributes: dict[str, Any] = dict(self.attributes(planned, dequantize=dequantize))
        if planned.axis is not None:
            attributes["axis"] = planned.axis
        if planned.block_size:
            attributes["block_size"] = planned.block_size
        is_half = self.graph.element_type(pair.tensor) == TensorProto.FLOAT16 and not force_float32
        stored = self._stored(pair, pair.suffix if pair.suffix == CONVERT else "", is_half=is_half)
        operator = self.operator(planned.kind, dequantize=dequantize)
        self.graph.make(operator, [pair.source, *stored], [target], name, domain=domain or None, **attributes)

    def _stored(self, pair: Pair, suffix: str, *, is_half: bool) -> tuple[str, ...]:
        """The initializers that hold the parameters: scale and zero point, a scale alone, or none.

        Where parameters are those of another tensor, so are their names, as in onnxruntime, unless compilers look them
        up by the pair's own tensor.
        """
        planned = pair.parameters
        name = pair.tensor if self.owns_parameters or self.settings.target.own_parameters else planned.name
        key = (name, suffix, is_half)
        if planned.kind.scaling is Scaling.NONE:
            return ()
        if key not in self._parameters:
            dtype = np.float16 if is_half else np.float32
            stored = [self.graph.add_initializer(f"{name}_scale{suffix}", _positive(planned, dtype))]
            if self._states_zero_point(planned):
                stored.append(self.store(f"{name}_zero_point{suffix}", planned.zero_point, planned.kind))
            self._parameters[key] = tuple(stored)
        return self._parameters[key]

    def _states_zero_point(self, planned: TensorPlan) -> bool:
        if planned.kind.scaling is Scaling.LINEAR:
            return False
        # A quantize node would take a missing zero point for that of uint8, and operators of other formats need it.
        optional = self.domain(planned.kind) in ONNX_DOMAINS and not self.keeps_float_weights(planned.kind)
        return planned.states_zero_point or not optional


def _positive(planned: TensorPlan, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """The scale in its type. The custom ops' kernels take no other: it must be positive and finite."""
    with np.errstate(over="ignore"):
        scale = planned.scale.astype(dtype)
    if not (scale.size == 0 or 0 < scale.min() <= scale.max() < np.inf):
        worst = scale[~(np.isfinite(scale) & (scale > 0))].ravel()[0]
        raise ModelError(
            f"the scale of {planned.name} would be {worst:g} in {np.dtype(dtype)}, but a scale is a positive finite "
            "number; leave the nodes that read it float, or choose another type"
        )
    return scale


def _codes(planned: TensorPlan, array: NDArray[Any]) -> NDArray[Any]:
    scale, zero = planned.spread(array.shape)
    if planned.kind.scaling is Scaling.LINEAR:
        return round_to_float(array, scale, planned.kind)
    return quantize(array, scale, zero, planned.kind.limits())


def _packed(name: str, kind: QType, codes: NDArray[Any]) -> TensorProto:
    """Two codes in a byte, the first one in its lower half."""
    halves = codes.reshape(-1).astype(np.int64) & 0xF
    low, high = halves[::2], np.append(halves, 0)[1::2]
    packed = (low | high[: low.size] << 4).astype(np.uint8)
    return helper.make_tensor(name, kind.element_type, codes.shape, packed.tobytes(), raw=True)
