"""Where a quantized model loses accuracy: every quantized tensor against the float model's.

``through`` is the error that has come together up to a tensor, run through the quantized graph; ``alone`` is what its
own pair adds when everything before it is float. A tensor where ``alone`` is low is a cause, one where only ``through``
is low suffers from those before it. A weight or bias of a Conv, ConvTranspose, Gemm or MatMul is measured at the output
of its operator.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from .. import custom_ops
from ..custom_ops.qdq_nodes import is_block_pair, is_fix_neuron, is_native, is_quantize
from ..data_readers import RandomDataReader, Samples, adapt_feed
from ..errors import CalibrationError, ModelError
from ..foreign import public
from ..graph import Graph
from ..graph.op_sets import CLAMP_OPS
from ..numerics.sqnr import decibels
from ..onnx_io.load import load_model
from ..plugin.op_functions import with_definitions
from .answers import loaded
from .weight_errors import WeightedOutput, attach_layers, attach_rounded, known_by_others, rounded_constants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    import onnxruntime as ort
    from numpy.typing import NDArray

    from ..data_readers import Feed

_PAIR_END = re.compile(r"_DequantizeLinear_Output(_\w+)?$")
_ALONE = "layer_errors/"


@dataclass(frozen=True)
class LayerError:
    """One quantized tensor; ratios are signal to noise in decibels, infinite where nothing is lost.

    ``contrast`` counts what channels say: by channel, the error alone relative to the signal's variance, at most 1; its
    mean over the channels, in decibels. Values that differ by 1 around 300, or lie beside a channel of 3000, lose to
    codes what they differ by, long before the tensor loses energy. ``weights`` is what the layer that makes the tensor
    loses by its weights alone, None where it has none or was not asked. ``clipped`` is the share of the error alone
    that values beyond the codes make; rounding makes the rest.
    """

    tensor: str
    producer: str
    through: float
    alone: float
    contrast: float
    weights: float | None = None
    clipped: float = 0.0


@dataclass
class _Sums:
    axis: int
    compared: bool = False
    signal: float = 0.0
    through: float = 0.0
    alone: float = 0.0
    clipped: float = 0.0
    count: int = 0
    moments: NDArray[Any] | None = None  # by channel: sum of f, of f^2, of errors alone e, of e^2

    def add(self, f: NDArray[Any], q: NDArray[Any], alone: NDArray[Any]) -> None:
        self.compared = True
        shape = _by_channel(f, self.axis)
        is_alone = q is alone
        f, alone = (np.asarray(part, np.float64).reshape(shape) for part in (f, alone))
        q = alone if is_alone else np.asarray(q, np.float64).reshape(shape)
        if not f.size:
            return
        squares = np.einsum("ijk,ijk->j", f, f)
        if np.isfinite(squares).all():
            least, most = alone.min(), alone.max()
        else:  # what is not finite in float is left out: what is 0 adds nothing
            finite = np.isfinite(f)
            least, most = _limits(alone[finite])
            f, q, alone = (np.where(finite, part, 0.0) for part in (f, q, alone))
            squares = np.einsum("ijk,ijk->j", f, f)
        error = f - alone
        noise = np.einsum("ijk,ijk->j", error, error)
        lost = float(noise.sum())
        self.signal += float(squares.sum())
        self.alone += lost
        through = f - q
        self.through += lost if is_alone else float(np.vdot(through, through))
        if f.min() < least or f.max() > most:
            beyond = error[(f < least) | (f > most)]
            self.clipped += float(beyond @ beyond)
        if not np.isfinite(lost):
            error = np.where(np.isfinite(error), error, 0.0)
            noise = np.einsum("ijk,ijk->j", error, error)
        found = np.stack([f.sum(axis=(0, 2)), squares, error.sum(axis=(0, 2)), noise])
        if self.moments is None or self.moments.shape == found.shape:
            self.count += f.shape[0] * f.shape[2]
            self.moments = found if self.moments is None else self.moments + found

    def shifted(self, shift: NDArray[Any] | None, *, alone: bool) -> _Sums:
        """What these are where q is larger by ``shift`` [channel]; ``alone``, where q is float's but for that:

        sum (e - s)^2 = sum e^2 - 2 s sum e + n s^2
        """
        if self.moments is None or shift is None:
            return self
        shift = shift.reshape(-1).astype(np.float64)
        total, squares, errors, noise = self.moments
        if alone:
            errors, noise = np.zeros_like(errors), np.zeros_like(noise)
        moved = np.maximum(noise - 2 * shift * errors + self.count * shift**2, 0.0)
        lost = float(moved.sum())
        moments = np.stack([total, squares, errors - self.count * shift, moved])
        return _Sums(self.axis, self.compared, self.signal, lost, lost, 0.0, self.count, moments)

    def sqnr(self, noise: float) -> float:
        return decibels(self.signal, noise)

    def contrast(self) -> float:
        if self.moments is None:
            return self.sqnr(self.alone)
        total, squares, _, noise = self.moments
        variance = squares - total**2 / max(self.count, 1)
        says = variance > 1e-9 * squares
        lost = np.minimum(1.0, noise[says] / variance[says])
        return decibels(1.0, float(lost.mean())) if lost.size else self.sqnr(self.alone)


def _by_channel(values: NDArray[Any], axis: int) -> tuple[int, int, int]:
    """How an array is seen as [before, channel, behind]."""
    shape = np.shape(values) or (1,)
    axis = axis % len(shape) if np.ndim(values) else 0
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _limits(values: NDArray[Any]) -> tuple[float, float]:
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


@dataclass
class _Probe:
    """The float model with the quantized model's pairs beside its tensors.

    A pair is called by its tensor, further ones of other parameters by tensor and end; pairs of the same parameters
    are one. ``tensors`` maps these names to tensors, ``ends`` to where the quantized graph has them dequantized.
    """

    model: ModelProto
    tensors: dict[str, str] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    weighted: list[WeightedOutput] = field(default_factory=list)


@public
def layer_errors(
    reference: ModelProto | str | Path,
    quantized: ModelProto | str | Path,
    feeds: Any = None,
    *,
    libraries: Iterable[Callable[[ort.SessionOptions], object]] = (),
    weights: bool = False,
) -> list[LayerError]:
    """Every tensor that is quantized in ``quantized`` and has its name in ``reference``, worst first.

    ``reference`` is the float model, or the prepared one (``entry.quantize_static.prepared``) where preparation changes
    what tensors hold, as equalization does. ``feeds`` is what ``quantize_static`` takes as calibration_data_reader;
    None is one random sample. Of the samples only sums are kept. With ``weights`` every layer runs on float inputs with
    all the constants that are stored, too.

    Raises:
        ModelError: the models have no quantized tensor in common.
    """
    reference, quantized = load_model(reference), with_definitions(load_model(quantized))
    samples = Samples(RandomDataReader(reference) if feeds is None else feeds, reference, converted=True)
    samples.rewind()  # they may have calibrated the quantized model just now
    floats, codes = Graph(reference), Graph(quantized)
    probe = _Probe(floats.to_model())
    constants = dict(_constants(floats, codes))
    known: set[tuple[object, ...]] = set()
    for tensor, quantizer, dequantizer in _pairs(floats, codes):
        meaning = (tensor, *_meaning(codes, quantizer, dequantizer))
        if meaning in known:
            continue
        known.add(meaning)
        name = tensor if tensor not in probe.ends else f"{tensor} at {dequantizer.output[0]}"
        _attach(probe.model, codes, tensor, name, quantizer, dequantizer)
        probe.tensors[name], probe.ends[name] = tensor, dequantizer.output[0]
    if not probe.ends and not constants:
        raise ModelError(
            "the models have no quantized tensor in common; is the quantized one made from this float model?"
        )
    for function in quantized.functions:
        if all((function.domain, function.name) != (known.domain, known.name) for known in probe.model.functions):
            probe.model.functions.append(function)
    registers = [custom_ops.register, *libraries]
    rounded = rounded_constants(codes, constants, registers)
    probe.weighted = attach_rounded(probe.model, floats, rounded)
    if weights:
        probe.weighted += attach_layers(probe.model, floats, rounded, probe.weighted)
    watched = codes.to_model()
    _expose(watched, probe.ends.values())
    _expose(probe.model, [each for name, tensor in probe.tensors.items() for each in (tensor, _ALONE + name)])
    _expose(probe.model, [name for each in probe.weighted for name in (each.wanted, each.found)])
    sums = _run(probe, watched, floats, samples, registers)
    by_weights = {each.wanted: sums.pop(each.key) for each in probe.weighted if not each.constant}
    own = _by_themselves(floats, rounded)
    sums = {tensor: total for tensor, total in (own | sums).items() if total.compared}
    if not sums:
        raise ModelError(
            "no tensor has the same shape in both models; is the quantized one made from this float model?"
        )
    found = []
    for tensor, total in sums.items():
        producer = floats.producer(probe.tensors.get(tensor, tensor))
        through, alone = total.sqnr(total.through), total.sqnr(total.alone)
        op_type = producer.op_type if producer is not None else ""
        layer = by_weights.get(_layer_of(floats, tensor))
        lost = own.get(tensor, total)
        clipped = lost.clipped / lost.alone if lost.alone else 0.0
        by_layer = None if layer is None else layer.sqnr(layer.alone)
        found.append(LayerError(tensor, op_type, through, alone, total.contrast(), by_layer, clipped))
    return sorted(found, key=lambda error: error.through)


def _layer_of(floats: Graph, tensor: str) -> str:
    """The tensor in front of the clamp that makes this one, where one does: layers are fused with theirs."""
    producer = floats.producer(tensor)
    return producer.input[0] if producer is not None and producer.op_type in CLAMP_OPS else tensor


def _pairs(floats: Graph, codes: Graph) -> Iterator[tuple[str, NodeProto, NodeProto]]:
    """(tensor of the float model, node that quantizes it, node that dequantizes it); one node may do both."""
    for node in codes:
        if node.op_type.endswith("DequantizeLinear"):
            quantizer = codes.producer(node.input[0])
            if quantizer is not None and not is_quantize(quantizer) and is_native(node, "DequantizeLinear"):
                quantizer = _quantizer_like(node, quantizer)
        elif is_fix_neuron(node) or is_block_pair(node):
            quantizer = node
        else:
            continue
        tensor = _PAIR_END.sub("", node.output[0])
        reader = codes.sole_consumer(node.output[0])
        if reader is not None and reader.op_type in CLAMP_OPS:
            continue  # what it discards is no error: the range is that of its output, which is looked at instead
        if quantizer is not None and not codes.is_constant(quantizer.input[0]) and _knows(floats, tensor):
            yield tensor, quantizer, node


def _quantizer_like(dequantizer: NodeProto, producer: NodeProto) -> NodeProto:
    """What rounds as the operator on codes does whose output is dequantized here: QOperator has no quantize node."""
    node = NodeProto()
    node.CopyFrom(dequantizer)
    node.op_type, node.name = "QuantizeLinear", f"{producer.name}_quantize"
    node.input[0] = producer.input[0]
    return node


def _constants(floats: Graph, codes: Graph) -> Iterator[tuple[str, str]]:
    """(constant of the float model, where the quantized model has it dequantized)."""
    for node in codes:
        tensor = _PAIR_END.sub("", node.output[0]) if node.output else ""
        dequantizes = node.op_type.endswith("DequantizeLinear") or is_fix_neuron(node) or is_block_pair(node)
        if dequantizes and floats.is_constant(tensor):
            yield tensor, node.output[0]


def _knows(floats: Graph, tensor: str) -> bool:
    return tensor in floats.inputs or floats.producer(tensor) is not None


def _meaning(codes: Graph, quantizer: NodeProto, dequantizer: NodeProto) -> Iterator[object]:
    """What a pair does to its tensor: operators, parameters, attributes."""
    for node in (quantizer, dequantizer):
        yield node.domain, node.op_type, *(entry.SerializeToString(deterministic=True) for entry in node.attribute)
        for name in node.input[1:]:
            array = codes.array(name)
            yield name if array is None else (str(array.dtype), array.shape, array.tobytes())


def _attach(
    model: ModelProto, codes: Graph, tensor: str, pair: str, quantizer: NodeProto, dequantizer: NodeProto
) -> None:
    """Put a copy of the pair, by that name, behind the float tensor."""
    graph = model.graph
    known = {initializer.name for initializer in graph.initializer}
    middle, end = f"{_ALONE}{pair}/codes", _ALONE + pair
    source = tensor
    for node in [quantizer] if quantizer is dequantizer else [quantizer, dequantizer]:
        copy = graph.node.add()
        copy.CopyFrom(node)
        copy.name = f"{_ALONE}{node.name or node.output[0]}"
        copy.input[0] = source
        for at in range(1, len(copy.input)):
            array = codes.array(copy.input[at])
            if array is None:
                continue
            copy.input[at] = f"{_ALONE}{copy.input[at]}"
            if copy.input[at] not in known:
                known.add(copy.input[at])
                tensor_proto = graph.initializer.add()
                tensor_proto.CopyFrom(codes.initializers[node.input[at]])
                tensor_proto.name = copy.input[at]
        source = end if node is dequantizer else middle
        copy.output[0] = source
        if all(entry.domain != node.domain for entry in model.opset_import):
            model.opset_import.append(helper.make_opsetid(node.domain, 1))


def _expose(model: ModelProto, tensors: Iterable[str]) -> None:
    known = {value.name for value in model.graph.output}
    for tensor in tensors:
        if tensor not in known:
            known.add(tensor)
            model.graph.output.append(helper.make_empty_tensor_value_info(tensor))


def _by_themselves(floats: Graph, rounded: Mapping[str, NDArray[Any]]) -> dict[str, _Sums]:
    """Constants against what their codes stand for."""
    sums = {tensor: _Sums(0) for tensor in rounded}
    for tensor, q in rounded.items():
        f = floats.array(tensor)
        if f is not None and f.shape == q.shape:
            sums[tensor].add(f, q, q)
    return sums


def _channel_axis(floats: Graph, tensor: str) -> int:
    return 1 if len(floats.shape(tensor) or ()) == 4 else -1


def _run(
    probe: _Probe,
    watched: ModelProto,
    floats: Graph,
    samples: Iterable[Feed],
    libraries: list[Callable[[ort.SessionOptions], object]],
) -> dict[str, _Sums]:
    left, right = loaded(probe.model, "float", libraries), loaded(watched, "quantized", libraries)
    tensors = list(probe.ends)
    names = [each for name in tensors for each in (probe.tensors[name], _ALONE + name)]
    axes = {each.wanted: _channel_axis(floats, each.wanted) for each in probe.weighted}
    others = known_by_others(probe.weighted, axes)
    run = [each for each in probe.weighted if each.key not in others]
    outputs = [name for each in run for name in (each.wanted, each.found)]
    sums = {}
    for each in probe.weighted:
        sums[each.key] = _Sums(axes[each.wanted])
    for name in tensors:
        sums[name] = _Sums(_channel_axis(floats, probe.tensors[name]))
    first = True
    for feed in samples:
        # A model without quantized tensors is run all the same: it must run.
        ends = [probe.ends[tensor] for tensor in tensors] or None
        try:
            wanted, found = left.run([*names, *outputs], feed), right.run(ends, adapt_feed(watched, feed))
        except InvalidArgument as error:
            raise ModelError(
                f"the quantized model does not take the samples; is it made from this float model? ({error})"
            ) from error
        except Exception as error:
            raise ModelError(f"onnxruntime cannot run the models on a sample: {error}") from error
        for at, tensor in enumerate(tensors):
            f, alone, q = wanted[2 * at], wanted[2 * at + 1], found[at]
            if f.shape == q.shape:
                sums[tensor].add(f, q, alone)
        for at, each in enumerate(run):
            f, q = wanted[len(names) + 2 * at : len(names) + 2 * at + 2]
            q = q if each.shift is None else q + each.shift
            sums[each.key].add(f, q, q)
        first = False
    if first:
        raise CalibrationError("there is no sample to compare on; rewind the reader, or give it data")
    for each in probe.weighted:
        if each.key in others:
            sums[each.key] = sums[others[each.key]].shifted(each.shift, alone=each.found == each.wanted)
    return sums
