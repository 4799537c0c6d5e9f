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
from ort_vitis_plugin.custom_ops.domains import OURS
from ort_vitis_plugin.foreign import public
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.graph.nodes import MICROSOFT

from .clip_on_codes import clip_codes, merge_equal_quantizers
from .code_grid import grid_of, is_native_quantize
from .finer_biases import floor_biases
from .hard_sigmoid_on_codes import hard_sigmoid_on_codes
from .integer_kernels import exact_config
from .kept_float import keep_float
from .known_kernels import is_shift, raise_opset, take_contrib_names, take_known_names, take_standard_names
from .opened_graph import opened_graph
from .product_biases import widen_biases
from .skipped_subgraphs import skip_blocks, skip_bodies
from .stored_weights import fold_codes, store_float_weights, store_rounded
from .unsigned_codes import own_codes, unsigned_codes, widen_codes
from .vitis_qdq import finished

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import ModelProto
    from onnxruntime import SessionOptions

    from ort_vitis_plugin.graph import Skip

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
        if any((node.domain, node.op_type) in OURS for node in self.model.graph.node):
            custom_ops.register(options)
        return options


def _note_the_rest(graph: Graph) -> None:
    """Say what stays as it was: custom nodes, and pairs whose scales are no powers of two."""
    for node in graph:
        if (node.domain, node.op_type) in OURS:
            graph.skip(
                node, "onnxruntime has no kernel of its own for its type" if is_shift(graph, node) else _ANY_STEP
            )
        elif is_native_quantize(node):
            grid = grid_of(graph, node)
            if grid is not None and not grid.is_shift:
                graph.skip(node, _ANY_STEP)


# In this order: constants that only Vitis rounds are stored before pairs of 16 bits get other names, and what stays
# float is known when biases are as wide as they can be.
_STEPS: tuple[tuple[str, Callable[[Graph], int]], ...] = (
    ("opset", raise_opset),
    ("standard pairs", take_standard_names),
    ("stored constants", store_rounded),
    ("16-bit pairs", take_contrib_names),
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
    ("known kernels", take_known_names),
)


@public
def evaluation_twin(model: ModelProto) -> Twin:
    """The model rewritten so that onnxruntime's CPU computes it on integers, equal to the bit.

    Takes what this package and AMD's tools write for the NPU: QDQ, Vitis QDQ (com.vai.quantize, com.amd.quark),
    FixNeuron. At full optimization the twin gives what ``model`` gives without optimization. What cannot be
    exact stays as it was, and is in ``kept``: other scales than powers of two, sums that may pass 2^24 steps, where
    float32 begins to round, kernels that round otherwise. ``model`` stays as it is.
    """
    graph = opened_graph(model, "evaluation_twin")
    rewritten = {kind: step(graph) for kind, step in _STEPS}
    _note_the_rest(graph)
    skip_blocks(graph)
    skip_bodies(graph, lambda node: (node.domain, node.op_type) in OURS)
    uses_contrib = any(node.domain == MICROSOFT for node in graph)
    if uses_contrib and all(entry.domain != MICROSOFT for entry in graph.model.opset_import):
        graph.model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    return Twin(
        finished(graph, None),
        {key: value for key, value in rewritten.items() if value},
        tuple(graph.skips),
        exact_config(),
    )


@public
def npu_to_cpu(model: ModelProto, skips: list[Skip] | None = None) -> ModelProto:
    """The model of the evaluation twin; ``skips`` gets what stays as it was and why. ``model`` stays as it is."""
    twin = evaluation_twin(model)
    if skips is not None:
        skips.extend(twin.kept)
    return twin.model
