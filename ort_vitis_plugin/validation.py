"""What is impossible is refused before work starts, with the reason and the nearest thing that works."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxruntime
from onnx import TensorProto

from .catalog import full_name
from .errors import OptionError, UnsupportedError
from .loading import QUANTIZED_OPS

if TYPE_CHECKING:
    from .graph import Graph
    from .request import Run


def check_request(run: Run) -> None:
    """Refuse combinations of format, method, types and options that cannot work."""
    for argument, kind in (("activation_type", run.activation), ("weight_type", run.weight)):
        if not run.format.accepts(kind):
            others = [full_name(other.key) for other in run.catalog.all(type(run.format)) if other.accepts(kind)]
            hint = f"use {' or '.join(others)}" if others else "choose another type"
            raise UnsupportedError(f"{argument}={kind} cannot be written as {full_name(run.format.key)}; {hint}")
    for name in run.lineage:
        check = run.catalog.target(name).check
        if check is not None:
            check(run)
    if run.options["Int16Scale"] and run.method.power_of_two:
        raise UnsupportedError(
            "Int16Scale replaces float scales, but the method gives powers of two; use CalibrationMethod.MinMax"
        )
    if run.options["BlockSize"]:
        raise UnsupportedError("BlockSize is onnxruntime's alone: call its quantize_static without options of ours")
    _check_providers(run)


def _check_providers(run: Run) -> None:
    available = onnxruntime.get_available_providers()
    for entry in run.call.execution_providers or ():
        name = entry[0] if isinstance(entry, (list, tuple)) else entry
        if name not in available:
            raise OptionError(f"execution_providers: {name!r} is not available here ({', '.join(available)})")


class AlreadyQuantizedWarning(UserWarning):
    """The model was quantized before; it is handed back as it is."""


def is_quantized(graph: Graph) -> bool:
    """Whether activations pass quantized operators (weights may have been quantized by another tool)."""
    found = [node for node in graph if node.op_type in QUANTIZED_OPS]
    return any(not graph.is_constant(node.input[0]) for node in found)


def check_floats(graph: Graph, run: Run) -> None:
    """A model of float64 has nothing that these formats can quantize."""
    selected = [node for node in graph if run.refusal(node) is None and node.input]
    kinds = {graph.element_type(name) for node in selected for name in node.input if name}
    if TensorProto.DOUBLE in kinds and not kinds & {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}:
        raise UnsupportedError(
            "the model computes in float64 (double), which no format can quantize; convert it to float32 first"
        )
