"""What onnxruntime takes and onnx's checker or shape inference does not becomes what all of them take."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from ..errors import ModelError
from ..graph import DEFAULT_DOMAINS, Graph, subgraphs, walk
from ..graph.subgraphs import all_nodes
from ..onnx_io import external_weights
from ..onnx_io.checker import check_model
from ..onnx_io.output_types import state_types

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import FunctionProto, ModelProto, SparseTensorProto

UNLISTED_CONSTANTS_IR = 4


def canonical_form(model: ModelProto) -> ModelProto:
    """The model, a message of ours, as the checker takes it.

    The default domain is written '', sparse constants are dense, the graph has a name, outputs have types, nodes are
    sorted (some tools append them in any order), and constants need not be listed as inputs, as they are up to IR 3.

    Raises:
        ModelError: the model is not valid ONNX.
    """
    _write_default_domain(model)
    _make_dense(model)
    model.graph.name = model.graph.name or "graph"
    model.ir_version = max(model.ir_version, UNLISTED_CONSTANTS_IR)
    state_types(model)
    try:
        check_model(model)
    except onnx.checker.ValidationError as error:
        in_order = Graph(model).write_back()
        try:
            check_model(in_order)
        except onnx.checker.ValidationError:
            raise ModelError(f"the model is not valid ONNX: {error}") from error
        return in_order
    return model


def _write_default_domain(model: ModelProto) -> None:
    """'ai.onnx' is another spelling of ''."""
    owners: list[ModelProto | FunctionProto] = [model, *model.functions]
    for owner in owners:
        imported = {entry.domain for entry in owner.opset_import}
        for number in reversed(range(len(owner.opset_import))):
            if owner.opset_import[number].domain == "ai.onnx":
                if "" in imported:
                    del owner.opset_import[number]
                else:
                    owner.opset_import[number].domain = ""
    for node in all_nodes(model):
        if node.domain in DEFAULT_DOMAINS:
            node.domain = ""


def _dense(sparse: SparseTensorProto) -> NDArray[Any]:
    values, places = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    shape = tuple(sparse.dims)
    if places.ndim == 2:
        places = np.ravel_multi_index(tuple(places.T), shape)
    dense = np.zeros(shape, values.dtype)
    dense.reshape(-1)[places] = values
    return dense


def _make_dense(model: ModelProto) -> None:
    """Sparse initializers and values of Constant nodes hold their zeros too, as every runtime reads them."""
    for graph in (model.graph, *(body for node in walk(model.graph.node) for body in subgraphs(node))):
        for sparse in graph.sparse_initializer:
            graph.initializer.append(external_weights.tensor_of(_dense(sparse), sparse.values.name))
        del graph.sparse_initializer[:]
    for node in all_nodes(model):
        if node.op_type != "Constant" or node.domain:
            continue
        for entry in node.attribute:
            if entry.name == "sparse_value" and not entry.ref_attr_name:
                entry.CopyFrom(
                    onnx.helper.make_attribute("value", numpy_helper.from_array(_dense(entry.sparse_tensor)))
                )
