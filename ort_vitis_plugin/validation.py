"""What is impossible is refused before work starts, with the reason and the nearest thing that works."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxruntime

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


def check_not_quantized(graph: Graph, run: Run) -> None:
    """A model with quantized operators is most likely the wrong file."""
    found = next((node for node in graph if node.op_type in QUANTIZED_OPS), None)
    if found is None or run.call.quantize_quantized:
        return
    if found.op_type == "DequantizeLinear" and graph.is_constant(found.input[0]):
        activations = [n for n in graph if n.op_type in QUANTIZED_OPS and not graph.is_constant(n.input[0])]
        if not activations:
            return
        found = activations[0]
    raise UnsupportedError(
        f"the model is quantized already: it holds {found.op_type} ({found.name}); "
        "give the float model, or set extra_options={'QuantizeQuantized': True} to go on"
    )
