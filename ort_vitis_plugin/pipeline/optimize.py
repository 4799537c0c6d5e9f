"""onnxruntime's basic graph optimization and shape inference, where they keep what the request names."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import onnx
from onnx import ModelProto, TensorProto

from ..graph import body_names
from ..graph.growth import outgrows
from ..graph.nodes import DEFAULT_DOMAINS
from ..graph.subgraphs import all_nodes
from ..onnx_io import external_weights
from ..onnx_io.sessions import give_back, register_all, session_options
from ..onnx_io.whole_file import scratch_folder
from .fused_nodes import fused_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..graph import Graph
    from ..request.call import Call


def infer_shapes(model: ModelProto) -> ModelProto:
    """Types and shapes of inner tensors; a tensor that inference cannot reach stays as it was described."""
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def optimize(call: Call, graph: Graph) -> ModelProto:
    """The model after ORT_ENABLE_BASIC; unchanged where names that the request uses would be lost."""
    model = infer_shapes(graph.write_back())
    optimized = _not_enlarged(call, model)
    if optimized is None:
        return model
    if _casts(optimized) > _casts(model):
        call.report.note("not optimized: onnxruntime's CPU would compute the float16 parts in float32, between Casts")
        return model
    lost = (set(call.names_in_use()) - _names(optimized)) & _names(model)
    if lost:
        call.report.note(f"not optimized: {sorted(lost)[0]}, which the request names, would be lost")
        return model
    hidden = _hidden(call, model, optimized)
    if hidden is not None:
        call.report.note(f"not optimized: op_types_to_quantize lists {hidden[0]}, which would become {hidden[1]}")
        return model
    call.ledger.fused.update(fused_nodes(model, optimized))
    return infer_shapes(optimized)


def _hidden(call: Call, before: ModelProto, after: ModelProto) -> tuple[str, str] | None:
    """A listed op type of which nodes became others that are not listed (MatMul and Add become Gemm)."""
    was, now = (Counter(node.op_type for node in model.graph.node) for model in (before, after))
    fewer = sorted(op_type for op_type in call.request.op_types if now[op_type] < was[op_type])
    others = sorted(op_type for op_type in now - was if op_type not in call.op_types)
    return (fewer[0], others[0]) if fewer and others else None


def _not_enlarged(call: Call, model: ModelProto) -> ModelProto | None:
    """The optimized model in which no constant was folded to more than its own constants and 64 KB.

    What would be is not folded: its constants are lent to onnxruntime as inputs with a default, which a caller may
    replace.
    """
    optimized = _optimized(call, model)
    if optimized is None:
        return None
    lent = _enlarged(model, optimized)
    if lent:
        optimized = _optimized(call, _with_inputs(model, lent))
        if optimized is not None:
            kept = {value.name for value in model.graph.input}
            inputs = [value for value in optimized.graph.input if value.name in kept]
            del optimized.graph.input[:]
            optimized.graph.input.extend(inputs)
    if optimized is None or _enlarged(model, optimized) or _enlarges_bodies(model, optimized):
        return _optimized(call, model, without=("ConstantFolding",))
    return optimized


def _with_inputs(model: ModelProto, names: set[str]) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    known = {value.name for value in model.graph.input}
    copy.graph.input.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in model.graph.initializer
        if tensor.name in names - known
    )
    return copy


def _enlarged(before: ModelProto, after: ModelProto) -> set[str]:
    """The constants of which folding made much larger ones, by name. A Cast alone enlarges nothing: elements count."""
    constants = {tensor.name: tensor for tensor in before.graph.initializer}
    producers = {name: node for node in before.graph.node for name in node.output}
    found: set[str] = set()
    for tensor in after.graph.initializer:
        same = constants.get(tensor.name)
        if same is not None and same.dims == tensor.dims:
            continue
        leaves: dict[str, TensorProto] = {}
        waiting, seen = [tensor.name], set()
        while waiting:
            name = waiting.pop()
            if name in constants:
                leaves[name] = constants[name]
            elif name in producers and name not in seen:
                seen.add(name)
                waiting += producers[name].input
        if _grows(leaves.values(), [tensor]):
            found |= leaves.keys()
    return found


def _enlarges_bodies(before: ModelProto, after: ModelProto) -> bool:
    """Whether constants of the bodies of If, Loop and Scan became larger than all that the model had."""
    inner = [tensor for node in after.graph.node for tensor in external_weights.tensors_of(node)]
    return _grows(external_weights.tensors(before.graph), inner)


def _grows(before: Iterable[TensorProto], after: Iterable[TensorProto]) -> bool:
    was, now = list(before), list(after)
    return outgrows(*_measured(now), *_measured(was))


def _measured(tensors: list[TensorProto]) -> tuple[int, int]:
    """How many elements these have, and how many bytes."""
    return sum(math.prod(tensor.dims) for tensor in tensors), sum(map(external_weights.nbytes, tensors))


def _optimized(call: Call, model: ModelProto, *, without: Sequence[str] = ()) -> ModelProto | None:
    """What onnxruntime makes of the model, all but its rewrites ``without``; None where it refuses the model."""
    options = session_options()
    options.add_session_config_entry("session.disable_prepacking", "1")
    if external_weights.size(model):
        external = "session.optimized_model_external_initializers"
        options.add_session_config_entry(f"{external}_file_name", "optimized.data")
        options.add_session_config_entry(f"{external}_min_size_in_bytes", str(external_weights.LARGE))
    with scratch_folder() as folder:
        path = folder / "optimized.onnx"
        options.optimized_model_filepath = str(path)
        register_all(call.libraries)(options)
        try:
            external_weights.lend_to_session(model, options, without=without)
        except Exception as error:
            call.report.note(f"onnxruntime cannot optimize the model, so it was quantized as it is: {error}")
            return None
        optimized = onnx.load(str(path), load_external_data=False)
        optimized = external_weights.read_aside(optimized, path.parent, model.graph.initializer)
    give_back(external_weights.size(model))
    # onnxruntime lists every domain that it knows, and may raise versions of those that the model does not use.
    kept = {entry.domain or "": entry.version for entry in model.opset_import}
    used = {node.domain for node in optimized.graph.node}
    del optimized.opset_import[:]
    for domain, version in kept.items():
        optimized.opset_import.append(onnx.helper.make_opsetid(domain, version))
    for domain in sorted(used - kept.keys() - set(DEFAULT_DOMAINS)):
        optimized.opset_import.append(onnx.helper.make_opsetid(domain, 1))
    _leave_out_defaults(model, optimized)
    optimized.ir_version = max(model.ir_version, min(optimized.ir_version, 10))
    return optimized


def _leave_out_defaults(model: ModelProto, optimized: ModelProto) -> None:
    """onnxruntime spells out every attribute at its default; what the model did not state is not stated."""
    stated = {
        (output, entry.name)
        for node in all_nodes(model)
        for output in node.output
        if output
        for entry in node.attribute
    }
    versions = {entry.domain: entry.version for entry in optimized.opset_import}
    for node in all_nodes(optimized):
        if node.domain or not onnx.defs.has(node.op_type, versions[""]):
            continue
        known = onnx.defs.get_schema(node.op_type, versions[""]).attributes
        for at in reversed(range(len(node.attribute))):
            entry = node.attribute[at]
            default = known[entry.name].default_value if entry.name in known else None
            if (
                default is None
                or default.type != entry.type
                or any((name, entry.name) in stated for name in node.output)
            ):
                continue
            if onnx.helper.get_attribute_value(default) == onnx.helper.get_attribute_value(entry):
                del node.attribute[at]


def _casts(model: ModelProto) -> int:
    return sum(node.op_type == "Cast" for node in model.graph.node)


def _names(model: ModelProto) -> set[str]:
    names = {node.name for node in model.graph.node} | {tensor.name for tensor in model.graph.initializer}
    names |= {name for node in model.graph.node for name in (*node.output, *node.input, *body_names(node))}
    return names
