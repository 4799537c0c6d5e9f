"""The result is checked before it is handed over: valid, loads, runs, finite, and near the float model."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort

from ..errors import ModelError, SelfCheckError
from ..graph.subgraphs import all_nodes
from ..numerics.sqnr import sqnr_db
from ..onnx_io.checker import check_model
from ..onnx_io.output_types import state_shapes
from ..onnx_io.sessions import FAITHFUL, give_back, open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnx import ModelProto

    from ..data_readers import Feed
    from ..report.report import Report


# Beyond basic optimization onnxruntime fuses pairs into integer kernels, which saturate 16-bit sums on x86 CPUs without
# VNNI: that error is the CPU's, not the model's. It counts where it shows: both limits are
# choices. Kernels that do not saturate differ from the pairs by the rounding of a few codes, far below 2 dB.
LOST = 2.0  # decibels
SHOWS = 40.0  # decibels that are left


def check_result(
    original: ModelProto,
    quantized: ModelProto,
    feeds: list[Feed],
    report: Report,
    *,
    pairs: ModelProto | None = None,
    adapt: Callable[[Feed], Feed] = lambda feed: feed,
    libraries: Iterable[Callable[[ort.SessionOptions], object]] = (),
) -> None:
    """Raise SelfCheckError unless the result is valid and runs; fill the report's SQNR by output, and what of it
    onnxruntime's integer kernels lose on this CPU.

    Quantized operators run in those kernels at every level: ``pairs`` is the model that says what they should give.
    """
    _check_valid(quantized, original, report)
    libraries = list(libraries)
    names = [value.name for value in quantized.graph.output]
    samples = [adapt(feed) for feed in feeds]
    # One session after the other: each holds the weights in a form of its own.
    written = _answers(quantized, libraries, FAITHFUL, names, samples)
    give_back()
    fused = _answers(quantized, libraries, ort.GraphOptimizationLevel.ORT_ENABLE_ALL, names, samples)
    give_back()
    exact = written if pairs is None else _answers(pairs, libraries, FAITHFUL, names, samples)
    give_back()
    if not feeds:
        return
    expected = _reference(original, libraries, names, feeds)
    give_back()
    for at, name in enumerate(names):
        rows = [[answer[at] for answer in answers] for answers in zip(expected, written, fused, exact, strict=True)]
        rows = [row for row in rows if isinstance(row[0], np.ndarray) and row[0].dtype.kind == "f" and row[0].size]
        for row in rows:
            _check_finite(name, row[0], row[1])
        if not rows:
            continue
        parts = zip(*rows, strict=True)
        f, q, kernels, intended = (np.concatenate([part.ravel() for part in column]) for column in parts)
        if not f.shape == q.shape == kernels.shape == intended.shape:
            raise SelfCheckError(f"output {name} has another shape than in the float model")
        finite = np.isfinite(f)
        report.sqnr[name] = sqnr_db(f[finite], q[finite])
        report.fused[name] = sqnr_db(f[finite], kernels[finite])
        lost = sqnr_db(f[finite], intended[finite]) - report.fused[name]
        if report.fused[name] < SHOWS and lost > LOST:
            report.integer_kernel_loss[name] = lost


def _answers(
    model: ModelProto,
    libraries: list[Callable[[ort.SessionOptions], object]],
    level: ort.GraphOptimizationLevel,
    names: list[str],
    feeds: list[Feed],
) -> list[Any]:
    """The outputs of the quantized model at one level of onnxruntime's optimization, sample by sample.

    What the model does not say of its inputs and outputs, it says afterwards.
    """
    try:
        session = open_session(model, libraries, level, lean=True)
    except Exception as error:
        raise SelfCheckError(f"onnxruntime cannot load the quantized model: {error}") from error
    try:
        answers = [_run(session, names, feed) for feed in feeds]
    except Exception as error:
        where = "" if level == FAITHFUL else ", at full optimization only,"
        raise SelfCheckError(f"the quantized model fails{where} on a calibration sample: {error}") from error
    state_shapes(model, session, feeds, answers)
    return answers


def _run(session: ort.InferenceSession, names: list[str], feed: Feed) -> list[Any]:
    """Outputs in memory of their own: a view of the session's would keep all of its memory."""
    return [value.copy() if isinstance(value, np.ndarray) else value for value in session.run(names, feed)]


def _reference(
    original: ModelProto,
    libraries: Iterable[Callable[[ort.SessionOptions], object]],
    names: list[str],
    feeds: list[Feed],
) -> list[Any]:
    """What the float model gives: as it came, or else without names of nodes (onnxruntime refuses equal ones) and
    with basic optimization (without it onnxruntime loses tensors that only a branch reads)."""
    unnamed = onnx.ModelProto()
    try:
        session = open_session(original, libraries, ort.GraphOptimizationLevel.ORT_DISABLE_ALL, lean=True)
        return [_run(session, names, feed) for feed in feeds]
    except Exception:
        unnamed.CopyFrom(original)
        for node in all_nodes(unnamed):
            node.name = ""
    try:
        session = open_session(unnamed, libraries, lean=True)
        return [_run(session, names, feed) for feed in feeds]
    except Exception as error:
        raise ModelError(f"onnxruntime cannot run the float model: {error}") from error


def _check_valid(model: ModelProto, original: ModelProto, report: Report) -> None:
    """Types and shapes count unless onnx's inference takes those of the float model for wrong too."""
    try:
        try:
            check_model(model, types=True)
        except onnx.shape_inference.InferenceError as error:
            if _agrees(original):
                raise
            report.note(f"onnx's shape inference refuses the float model already: {error}")
            check_model(model)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError) as error:
        raise SelfCheckError(f"the quantized model is not valid ONNX: {error}") from error


def _agrees(model: ModelProto) -> bool:
    try:
        check_model(model, types=True)
    except onnx.shape_inference.InferenceError:
        return False
    return True


def _check_finite(name: str, reference: Any, found: Any) -> None:
    if reference.shape == found.shape and not np.isfinite(found[np.isfinite(reference)]).all():
        raise SelfCheckError(f"output {name} of the quantized model is not finite where the float model's is")
