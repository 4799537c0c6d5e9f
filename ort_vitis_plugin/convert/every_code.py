"""An operator of one 8-bit input has 256 answers: whether another form gives the same ones can be tried."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from onnx import ModelProto, helper, numpy_helper

from ..graph.nodes import MICROSOFT
from ..onnx_io.sessions import AS_WRITTEN, FASTEST, session_options
from .code_grid import Grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from onnx import NodeProto

X, Y = "x", "y"  # codes in and out
_OPSET = 21  # later ones say nothing new of these operators, and older runtimes have no kernels for them


def code_model(
    nodes: Sequence[NodeProto], constants: Mapping[str, NDArray[Any]], x: Grid, y: Grid, opset: int
) -> ModelProto:
    """A model from any number of codes ``x`` to codes ``y``."""
    ends = [helper.make_tensor_value_info(name, grid.element_type, [None]) for name, grid in ((X, x), (Y, y))]
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(list(nodes), "codes", ends[:1], ends[1:], initializers)
    opsets = [helper.make_opsetid("", min(opset, _OPSET)), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def between_pairs(nodes: Sequence[NodeProto], x: Grid, y: Grid) -> tuple[list[NodeProto], dict[str, NDArray[Any]]]:
    """Nodes from a tensor ``dequantized`` to a tensor ``result``, with the pair halves around them."""
    constants: dict[str, NDArray[Any]] = {
        "x_scale": x.scale,
        "x_zero": x.zero_point.astype(x.dtype),
        "y_scale": y.scale,
        "y_zero": y.zero_point.astype(y.dtype),
    }
    first = helper.make_node("DequantizeLinear", [X, "x_scale", "x_zero"], ["dequantized"])
    last = helper.make_node("QuantizeLinear", ["result", "y_scale", "y_zero"], [Y])
    return [first, *nodes, last], constants


@lru_cache(maxsize=1024)
def _answers(model: bytes, kind: str, *, fused: bool) -> bytes:
    """The codes for every code: all at once, then one by one, since a kernel may take the last of many another way."""
    options = session_options(FASTEST if fused else AS_WRITTEN)
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    limits = np.iinfo(kind)
    codes = np.arange(limits.min, limits.max + 1).astype(kind)
    together = session.run([Y], {X: codes})[0]
    alone = [session.run([Y], {X: codes[index : index + 1]})[0] for index in range(codes.size)]
    return bytes(np.concatenate([together, *alone]).tobytes())


def agree(original: ModelProto, other: ModelProto, x: Grid) -> bool:
    """Whether ``original`` without optimization and ``other`` with all of it give the same codes for all codes."""
    kind = x.dtype.name
    before = _answers(original.SerializeToString(deterministic=True), kind, fused=False)
    return before == _answers(other.SerializeToString(deterministic=True), kind, fused=True)
