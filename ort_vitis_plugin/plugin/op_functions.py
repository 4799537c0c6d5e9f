"""A model carries the definitions of the operators that it uses beyond ONNX's: the host's own, and those of plugins."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import ModelProto

from ..custom_ops.domains import OURS
from ..custom_ops.functions import add_functions
from ..graph import walk
from .catalog import shared_catalog
from .declarations import OpFunctions

if TYPE_CHECKING:
    from .catalog import Catalog


def define_ops(model: ModelProto, catalog: Catalog | None = None) -> None:
    """Give the model, in place, functions for every op of ours and of plugins that it uses, replacing those it has."""
    add_functions(model)
    for declared in (catalog or shared_catalog()).all(OpFunctions):
        declared.add(model)


def with_definitions(model: ModelProto) -> ModelProto:
    """The model with functions for the ops of ours and of plugins that come without; itself where none does."""
    defined = {(function.domain, function.name) for function in model.functions}
    used = {(node.domain, node.op_type) for node in walk(model.graph.node) if node.domain} - defined
    if not used:
        return model
    known = OURS.union(*(declared.ops for declared in shared_catalog().all(OpFunctions)))
    if not used & known:
        return model
    result = ModelProto()
    result.CopyFrom(model)
    define_ops(result)
    return result
