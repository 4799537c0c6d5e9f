"""An NPU model has a twin that onnxruntime's CPU computes on integers, several times faster and to the same bits.

A model as the NPU takes it stays float on a CPU: its biases are int8 with a step of their own, its Relus stand before
the pair, its operators have names of their own. Each of these says something that integer kernels say, too.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import helper

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.custom_ops.names import DEQUANTIZE, FIX_NEURON, QUANTIZE
from ort_vitis_plugin.graph import DEFAULT_DOMAINS, Graph, walk
from ort_vitis_plugin.numerics import position_of

from .bodies import skip_bodies
from .clip_on_codes import clip_codes, merge_equal_quantizers
from .code_grid import grid_of, is_dequantize, is_quantize
from .finer_biases import floor_biases
from .hard_sigmoid_on_codes import hard_sigmoid_on_codes
from .integer_kernels import exact_config
from .kept_float import keep_float
from .product_biases import widen_biases
from .sites import CONTRIB
from .standard_pairs import EIGHT_BITS, SIXTEEN_BITS, code_type, finished, standardize
from .stored_weights import fold_codes, store_float_weights, store_rounded
from .unsigned_codes import own_codes, unsigned_codes, widen_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import ModelProto, NodeProto
    from onnxruntime import SessionOptions

    from ort_vitis_plugin.graph import Skip

_NEWEST_PAIRS = 25  # of onnxruntime 1.32, which loads models up to opset 28
_OURS = QUANTIZE | DEQUANTIZE | FIX_NEURON
_ANY_STEP = "its scale is no power of two: integer kernels round products of its codes elsewhere"


@dataclass(frozen=True)
class Twin:
    """What computes the same as an NPU model, on integers where that is exact.

    ``rewritten`` counts what changed, by kind. ``kept`` names what stays as it was, and why. ``config`` is the session
    configuration that keeps the twin exact on this CPU.
    """

    model: ModelProto
    rewritten: Mapping[str, int]
    kept: Sequence[Skip]
    config: Mapping[str, str]

    def session_options(self) -> SessionOptions:
        """Options for a session of the model: full optimization, ``config``, and the library where its ops are left."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        for key, value in self.config.items():
            options.add_session_config_entry(key, value)
        if any((node.domain, node.op_type) in _OURS for node in self.model.graph.node):
            custom_ops.register(options)
        return options


def _is_shift(graph: Graph, node: NodeProto) -> bool:
    """Whether the scales of a Vitis node or FixNeuron are constant powers of two."""
    scale = graph.array(node.input[1])
    return scale is not None and all(position_of(float(each)) is not None for each in scale.flat)


def _raise_opset(graph: Graph) -> int:
    """Opset 11 becomes 12, where Clip and MaxPool take codes; all that changed but Dropout only gained by it."""
    nodes = walk(graph)
    if graph.opset != 11 or any(node.op_type == "Dropout" and node.domain in DEFAULT_DOMAINS for node in nodes):
        return 0
    if any((function.domain, function.name) not in _OURS for function in graph.model.functions):
        return 0
    for entry in graph.model.opset_import:
        if entry.domain in DEFAULT_DOMAINS:
            entry.version = 12
    return 1


def _standardize(graph: Graph) -> int:
    """8-bit power-of-two nodes of Vitis, Quark and onnxruntime-extensions, and FixNeurons, as ONNX's own."""
    count = 0
    for node in graph:
        if (node.domain, node.op_type) not in _OURS or (not _is_shift(graph, node) and _has_eight_bits(graph, node)):
            continue
        count += standardize(graph, node) == ""
    return count


def _has_eight_bits(graph: Graph, node: NodeProto) -> bool:
    return code_type(graph, node, quantizes=(node.domain, node.op_type) in QUANTIZE) in EIGHT_BITS


def _take_contrib(graph: Graph) -> int:
    """16-bit nodes of Vitis and Quark as com.microsoft's, which know 16 bits at any opset."""
    count = 0
    for node in graph:
        quantizes = (node.domain, node.op_type) in QUANTIZE
        if not quantizes and (node.domain, node.op_type) not in DEQUANTIZE:
            continue
        if code_type(graph, node, quantizes=quantizes) in SIXTEEN_BITS and graph.static_shape(node.input[1]) in (
            (),
            (1,),
        ):
            node.op_type, node.domain = "QuantizeLinear" if quantizes else "DequantizeLinear", CONTRIB
            del node.attribute[:]
            count += 1
    return count


def _name_known_kernels(graph: Graph) -> int:
    """Pairs of com.microsoft in models whose opset is newer than onnxruntime's kernels of ONNX's own pairs."""
    nodes = [node for node in graph if (is_quantize(node) or is_dequantize(node)) and node.domain in DEFAULT_DOMAINS]
    if graph.opset <= _NEWEST_PAIRS:
        return 0
    for node in nodes:
        node.domain = CONTRIB
        for index in reversed(range(len(node.attribute))):
            if node.attribute[index].name != "axis":
                del node.attribute[index]
    return len(nodes)


def _note_the_rest(graph: Graph) -> None:
    """Say what stays as it was: custom nodes, and pairs whose scales are no powers of two."""
    for node in graph:
        if (node.domain, node.op_type) in _OURS:
            graph.skip(
                node, "onnxruntime has no kernel of its own for its type" if _is_shift(graph, node) else _ANY_STEP
            )
        elif is_quantize(node):
            grid = grid_of(graph, node)
            if grid is not None and not grid.is_shift:
                graph.skip(node, _ANY_STEP)


# In this order: constants that only Vitis rounds are stored before pairs of 16 bits get other names, and what stays
# float is known when biases are as wide as they can be.
_STEPS: tuple[tuple[str, Callable[[Graph], int]], ...] = (
    ("opset", _raise_opset),
    ("standard pairs", _standardize),
    ("stored constants", store_rounded),
    ("16-bit pairs", _take_contrib),
    ("constant codes", fold_codes),
    ("4-bit codes", widen_codes),
    ("unsigned codes", unsigned_codes),
    ("merged quantizers", merge_equal_quantizers),
    ("int32 biases", widen_biases),
    ("clamped codes", clip_codes),
    ("finer biases", floor_biases),
    ("HardSigmoids", hard_sigmoid_on_codes),
    ("float weights", store_float_weights),
    ("kept float", keep_float),
    ("own codes", own_codes),
    ("known kernels", _name_known_kernels),
)


def evaluation_twin(model: ModelProto) -> Twin:
    """The model rewritten so that onnxruntime's CPU computes it on integers, equal to the bit.

    Takes what this package and AMD's tools write for the NPU: QDQ, Vitis QDQ (com.vai.quantize, com.amd.quark),
    FixNeuron. At full optimization the twin gives what ``model`` gives without optimization, as long as sums of
    products stay below 2^24 steps, where float32 begins to round. What cannot be exact stays as it was, and is in
    ``kept``. ``model`` stays as it is.
    """
    graph = Graph(model)
    graph.step = "evaluation_twin"
    rewritten = {kind: step(graph) for kind, step in _STEPS}
    _note_the_rest(graph)
    skip_bodies(graph, lambda node: (node.domain, node.op_type) in _OURS)
    uses_contrib = any(node.domain == CONTRIB for node in graph)
    if uses_contrib and all(entry.domain != CONTRIB for entry in graph.model.opset_import):
        graph.model.opset_import.append(helper.make_opsetid(CONTRIB, 1))
    return Twin(
        finished(graph, None),
        {key: value for key, value in rewritten.items() if value},
        tuple(graph.skips),
        exact_config(),
    )


def npu_to_cpu(model: ModelProto, skips: list[Skip] | None = None) -> ModelProto:
    """The model of the evaluation twin; ``skips`` gets what stays as it was and why. ``model`` stays as it is."""
    twin = evaluation_twin(model)
    if skips is not None:
        skips.extend(twin.kept)
    return twin.model
