"""Where a run's sketches come from: the caller's calibration, its cache file, or the samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from .. import calibration as artefact
from ..calibration import Calibration
from ..calibration.observe import Candidates, direct_errors
from ..calibration.ranges_file import check_stored_names, read_ranges, write_ranges
from ..calibration.statistics import Statistics
from ..errors import CalibrationError, OptionTypeError, UnsupportedError
from ..graph import Graph
from ..graph.default_opset import default_opset
from ..graph.element_types import QUANTIZED_FLOATS
from ..graph.op_sets import PERIODIC
from ..graph.weighted_inputs import weighted_inputs
from ..onnx_io.external_weights import array_of
from ..options.ort_options import OrtOptions
from ..plan import Role
from ..plan.error_curve import ErrorCurve
from ..planning.weight_energies import channels_of
from ..plugin.methods import TensorFacts
from ..report.progress import Progress
from ..request.provenance_facts import differences, preparation
from . import subgraphs
from .range_companion import Companion, companion_of, read_companion, write_companion
from .range_file import range_file
from .recipe import reads_energies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnxruntime as ort
    from onnx import ModelProto

    from ..calibration.channel_squares import Channels
    from ..plan import Plan
    from ..plugin.methods import Collector
    from ..request.call import Call
    from .calibrater_feed import CalibraterFeed

# Beyond them a code's step is finer than what a sketch tells apart.
SKETCH_BITS = 8


def obtain(
    call: Call,
    graph: Graph,
    model: ModelProto,
    configure: Callable[[ort.SessionOptions], None],
    collector: Collector | None,
    beside: CalibraterFeed | None = None,
) -> Calibration:
    """The calibration of the prepared model; a cache file is read if it exists and written if not.

    Raises:
        UnsupportedError: the method looks at each sample, which a calibration does not keep.
        OptionTypeError: what is given is no calibration.
        CalibrationError: it is of another model.
    """
    given, cache = call.request.calibration, call.call.calibration_cache
    path = Path(cache) if cache else None
    if given is None and (path is None or not path.exists()):
        kept = path is not None or range_file(call.settings) is not None
        tensors = float_tensors(graph) if kept else tensors_of_interest(call, graph)
        channels = weight_channels(graph) if kept or reads_energies(call) else []
        found = observe_samples(call, model, tensors, configure, collector, beside, channels=channels)
        if path is not None:
            found.save(path)
        return found
    if collector is not None or beside is not None:
        observer = type(collector).__name__ if beside is None else beside.name
        raise UnsupportedError(
            f"{observer} looks at each sample apart, which a calibration does not keep; "
            "give the samples instead, or use the method without that option"
        )
    if given is None and path is not None:
        given = Calibration.load(path)
    if not isinstance(given, Calibration):
        raise OptionTypeError(f"calibration takes what calibrate() returns, not {type(given).__name__}")
    tensors = tensors_of_interest(call, graph)
    with subgraphs.watch(call, model, tensors) as inside:
        tensors += inside.sketches
    try:
        given.check(model, tensors)
    except CalibrationError as error:
        if changed := differences(given.made, preparation(call, default_opset(model, 0))):
            raise CalibrationError(
                f"{path or 'calibration'}: it was made with {changed}; calibrate again, or make them equal"
            ) from error
        raise CalibrationError(
            f"{path or 'calibration'}: {error}; what prepares the float model (target, include_cle, converters, "
            "preparation switches) must be the same as when it was made"
        ) from error
    return given


def stored_ranges(call: Call, graph: Graph) -> Statistics | None:
    """The statistics that the file of calibration_cache_path holds, None where there is none to read."""
    path = range_file(call.settings)
    if path is None or not path.exists():
        return None
    stored = read_ranges(path, call.method.key)
    check_stored_names(path, stored, tensors_of_interest(call, graph))
    beside = read_companion(path, call.settings)
    if beside is None and call.call.recipe == "auto":
        call.note(
            f"{path} has no companion {companion_of(path).name} of this configuration: weights and biases are as "
            f"{call.method.key} alone gives them"
        )
    beside = beside or Companion()
    return Statistics(
        {name: each.sketch for name, each in stored.items()},
        ranges={name: each.limits for name, each in stored.items()},
        energies=beside.energies,
        constants=beside.constants,
    )


def keep_ranges(call: Call, graph: Graph, statistics: Statistics) -> None:
    """Write the file of calibration_cache_path; this call takes its ranges as the next one will read them."""
    path = range_file(call.settings)
    if path is None:
        return
    ranges = {}
    for name, sketch in statistics.items():
        dtype = np.float16 if graph.element_type(name) == TensorProto.FLOAT16 else np.float32
        facts = TensorFacts(name, Role.ACTIVATION, call.settings, statistics.collected)
        low, high = statistics.ranges.get(name) or call.method.range_of(sketch, facts)
        ranges[name] = (float(dtype(low)), float(dtype(high))), dtype
    write_ranges(path, call.method.key, ranges, statistics.sketches)
    statistics.ranges = {name: limits for name, (limits, _) in ranges.items()}


def keep_beside_ranges(call: Call, plan: Plan, before: Mapping[str, TensorProto]) -> None:
    """Write the companion of calibration_cache_path's file: energies that weights follow, constants that changed."""
    path = range_file(call.settings)
    if path is None or call.statistics is None:
        return
    changed = {
        name: array_of(tensor)
        for name, tensor in plan.graph.initializers.items()
        if name in before and before[name] is not tensor
    }
    if changed or call.statistics.energies:
        write_companion(path, call.settings, Companion(call.statistics.energies, changed))


def observe_samples(
    call: Call,
    model: ModelProto,
    tensors: list[str],
    configure: Callable[[ort.SessionOptions], None],
    collector: Collector | None = None,
    beside: CalibraterFeed | None = None,
    *,
    channels: Sequence[Channels] = (),
    **engine: Any,
) -> Calibration:
    """Run the samples; of every tensor only its exact sketch is kept, and of ``channels`` their mean squares.

    ``engine``: executor and checkpoint.

    Raises:
        UnsupportedError: bodies are to be observed by an executor or from a checkpoint.
    """
    with (
        Progress("calibration samples", len(call.samples)) as progress,
        subgraphs.watch(call, model, tensors) as inside,
    ):
        if inside.sketches and any(engine.get(key) is not None for key in ("executor", "checkpoint")):
            raise UnsupportedError(
                "EnableSubgraph counts what runs inside If, Loop and Scan in this process, in one go; "
                "calibrate without executor and checkpoint, or without EnableSubgraph"
            )

        def seen(sample: Any) -> None:
            progress.advance()
            sample = inside.complete(sample, call.call.non_finite_samples)
            if collector is not None:
                collector.observe(sample.sketches)
            if beside is not None:
                beside.collect()

        found = artefact.calibration_of(
            inside.model,
            call.samples if beside is None else beside.passing(call.samples),
            tensors,
            providers=call.call.execution_providers or ("CPUExecutionProvider",),
            configure=inside.configured(configure, call.libraries),
            on_sample=seen,
            apart=collector is not None,
            non_finite=call.call.non_finite_samples,
            channels=channels,
            **engine,
        )
    found.made = preparation(call, default_opset(model, 0))
    if inside.sketches:
        found.fingerprint = artefact.fingerprint(model)
        found.sketches.update(inside.sketches)
        found.non_finite += inside.non_finite
    return found


def exact_errors(
    call: Call, model: ModelProto, statistics: Statistics, configure: Callable[[ort.SessionOptions], None]
) -> dict[str, dict[int, tuple[float, int]]]:
    """Exact errors where eight bits do not suffice, by a second pass, if the samples can be read again."""
    kind, method = call.activation, call.method
    searches = method.power_of_two and not method.never_clips and statistics.collected is None
    if not (searches and kind.is_integer and kind.bits > SKETCH_BITS and call.samples.rewind()):
        return {}
    candidates = {}
    for name, sketch in statistics.items():
        curve = ErrorCurve(sketch, kind, kind.limits(), call.options[OrtOptions].activation_symmetric)
        positions = curve.contenders() if not curve.is_zero else []
        zeros = {curve.zero_point(position) for position in positions}
        if len(positions) > 1 and len(zeros) == 1:
            candidates[name] = Candidates(positions, *kind.limits(), zeros.pop())
    if not candidates:
        return {}
    providers = call.call.execution_providers or ("CPUExecutionProvider",)
    errors = direct_errors(model, candidates, call.samples, providers=providers, configure=configure)
    return {
        name: {p: (float(error), each.zero_point) for p, error in zip(each.positions, errors[name], strict=True)}
        for name, each in candidates.items()
    }


def weight_channels(graph: Graph) -> list[Channels]:
    """The channels that constant weights multiply."""
    return sorted(
        {channels_of(found) for found in weighted_inputs(graph) if graph.element_type(found.data) in QUANTIZED_FLOATS}
    )


def float_tensors(graph: Graph) -> list[str]:
    """All float tensors that are not constant: what any configuration may ask for."""
    names = dict.fromkeys(name for node in graph for name in (*node.input, *node.output) if name)
    return [name for name in names if not graph.is_constant(name) and graph.element_type(name) in QUANTIZED_FLOATS]


def tensors_of_interest(call: Call, graph: Graph) -> list[str]:
    """Float tensors around selected nodes, and angles; the input of a selected Relu or Clip takes the range of its
    output."""
    selected = [node for node in graph if call.refusal(node) is None]
    names = dict.fromkeys(name for node in selected for name in (*node.input, *node.output) if name)
    names |= dict.fromkeys(node.input[0] for node in graph.of_type(*PERIODIC))
    for node in graph.of_type("Relu", "Clip"):
        if call.refusal(node) is None and graph.sole_consumer(node.input[0]) is node:
            names.pop(node.input[0], None)
    return [name for name in names if not graph.is_constant(name) and graph.element_type(name) in QUANTIZED_FLOATS]
