"""Where a run's sketches come from: the caller's calibration, its cache file, or the samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import calibration as artefact
from .calibration import Calibration
from .errors import CalibrationError, OptionTypeError, UnsupportedError
from .progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnxruntime as ort
    from onnx import ModelProto

    from .graph import Graph
    from .request import Run

FLOATS = (1, 10)  # TensorProto.FLOAT and FLOAT16


def obtain(
    run: Run, graph: Graph, model: ModelProto, configure: Callable[[ort.SessionOptions], None], collector: Any
) -> Calibration:
    """The calibration of the prepared model; a cache file is read if it exists and written if not."""
    given, cache = run.request.calibration, run.call.calibration_cache
    path = Path(cache) if cache else None
    if given is None and (path is None or not path.exists()):
        tensors = tensors_of_interest(run, graph) if path is None else float_tensors(graph)
        found = observe_samples(run, model, tensors, configure, collector)
        if path is not None:
            found.save(path)
        return found
    if collector is not None:
        raise UnsupportedError(
            f"{type(collector).__name__} looks at each sample apart, which a calibration does not keep; "
            "give the samples instead, or use the method without that option"
        )
    if given is None and path is not None:
        given = Calibration.load(path)
    if not isinstance(given, Calibration):
        raise OptionTypeError(f"calibration takes what calibrate() returns, not {type(given).__name__}")
    try:
        given.check(model, tensors_of_interest(run, graph))
    except CalibrationError as error:
        raise CalibrationError(
            f"{path or 'calibration'}: {error}; what prepares the float model (target, include_cle, converters, "
            "preparation switches) must be the same as when it was made"
        ) from error
    return given


def observe_samples(
    run: Run,
    model: ModelProto,
    tensors: list[str],
    configure: Callable[[ort.SessionOptions], None],
    collector: Any = None,
    **engine: Any,
) -> Calibration:
    """Run the samples; of every tensor only its exact sketch is kept. ``engine``: executor and checkpoint."""
    with Progress("calibration samples", len(run.samples)) as progress:

        def seen(sample: Any) -> None:
            progress.advance()
            if collector is not None:
                collector.observe(sample.sketches)

        return artefact.calibrate(
            model,
            run.samples,
            tensors,
            providers=run.call.execution_providers or ("CPUExecutionProvider",),
            configure=configure,
            on_sample=seen,
            apart=collector is not None,
            non_finite=run.call.non_finite_samples,
            **engine,
        )


def float_tensors(graph: Graph) -> list[str]:
    """All float tensors that are not constant: what any configuration may ask for."""
    names = dict.fromkeys(name for node in graph for name in (*node.input, *node.output) if name)
    return [name for name in names if not graph.is_constant(name) and graph.element_type(name) in FLOATS]


def tensors_of_interest(run: Run, graph: Graph) -> list[str]:
    """Float tensors around selected nodes; the input of a Relu or Clip takes the range of its output."""
    selected = [node for node in graph if run.refusal(node) is None]
    names = dict.fromkeys(name for node in selected for name in (*node.input, *node.output) if name)
    for node in graph.of_type("Relu", "Clip"):
        if node.output[0] in names and graph.sole_consumer(node.input[0]) is node:
            names.pop(node.input[0], None)
    return [name for name in names if not graph.is_constant(name) and graph.element_type(name) in FLOATS]
