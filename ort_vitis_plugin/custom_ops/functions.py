"""Model-local functions with which a model runs where the custom-op library is not registered, giving the same bits.

ORT prefers a registered kernel to a function of the same domain and name. Below IR 10 there is one body per name, and
ORT before 1.24 types every node by the first body even where IR 10 gives several, so a body serves all nodes of its
name: it is specialised by what these nodes have in common, and generic in the zero point's type where that differs.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, helper

from ort_vitis_plugin.graph.nodes import DEFAULT_DOMAINS

from ..errors import ModelError
from ..graph import has_input, walk
from ..graph.default_opset import default_opset
from .domains import OURS
from .function_bodies import function_body
from .op_usage import DEFAULTS, MIXED_OPSET, Tensors, Use, our_nodes, use_of, zero_point_types
from .put_functions import put_functions


def _raise_opset(model: ModelProto, opset: int) -> bool:
    """Raise opset 13 or 14 to 15, where the ops that changed only gained types and optional attributes.

    BatchNormalization lost its training outputs in opset 14; a model that has them stays.
    """
    training = any(node.op_type == "BatchNormalization" and len(node.output) > 1 for node in walk(model.graph.node))
    if not 13 <= default_opset(model) < opset <= MIXED_OPSET or training:
        return False
    for imports in (model.opset_import, *(function.opset_import for function in model.functions)):
        for entry in imports:
            if entry.domain in DEFAULT_DOMAINS and 13 <= entry.version < opset:
                entry.version = opset
    return True


def _state_attributes(use: Use, nodes: list[NodeProto]) -> None:
    """Give every node the attributes that one of its name has, and bit_width as a string, the type in the schema.

    onnx's ReferenceEvaluator wants every attribute that a function declares on every node that calls it.
    """
    for node in nodes:
        present = {attribute.name: attribute for attribute in node.attribute}
        for name in use.attributes:
            if name not in present:
                node.attribute.append(helper.make_attribute(name, DEFAULTS[name]))
        width = present.get("bit_width")
        if width is not None and width.type == AttributeProto.INT:
            width.CopyFrom(helper.make_attribute("bit_width", str(width.i)))


def _state_zero_points(model: ModelProto, use: Use, nodes: list[NodeProto], tensors: Tensors) -> None:
    """Give nodes without a zero point one of zeros, where others of the same name have one."""
    for node in nodes:
        if has_input(node, 2) or not use.zero_point:
            del node.input[3 if use.zero_point else 2 :]
            continue
        types = zero_point_types((use.domain, use.op_type), node, tensors)
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
    found = our_nodes(model)
    tensors = Tensors(model)
    uses = {key: use_of(key, nodes, tensors) for key, nodes in found.items()}
    needed = max((use.opset for use in uses.values()), default=0)
    if needed > default_opset(model):
        _raise_opset(model, needed)
    functions = [function_body(use, default_opset(model)) for use in uses.values()]
    for key, use in uses.items():
        _state_attributes(use, found[key])
        _state_zero_points(model, use, found[key], tensors)
    put_functions(model, functions, OURS, {domain for domain, _ in found})


def model_functions(model: ModelProto) -> list[FunctionProto]:
    """The functions that ``add_functions`` would give the model, which stays as it is."""
    copy = ModelProto()
    copy.CopyFrom(model)
    add_functions(copy)
    return [function for function in copy.functions if (function.domain, function.name) in OURS]
