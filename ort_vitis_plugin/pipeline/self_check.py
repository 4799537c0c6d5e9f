"""The result is checked before it is handed over: valid, loads, runs, finite, and near the float model."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort

from ..custom_ops.qdq_nodes import is_native
from ..data_readers import adapt_feed
from ..errors import QuantizationError, SelfCheckError
from ..graph import Graph
from ..graph.element_types import EIGHT_BITS
from ..graph.op_sets import MATRIX_PRODUCTS
from ..measure.answers import answer, float_answers
from ..measure.class_outputs import class_axes
from ..measure.open_sizes import open_outputs, sizes_told
from ..measure.output_parts import output_parts
from ..measure.verdict import LOUD, judgements_of, objection
from ..numerics.sqnr import sqnr_db
from ..onnx_io import external_weights
from ..onnx_io.checker import check_model
from ..onnx_io.ort_support import has_float8
from ..onnx_io.output_types import state_shapes
from ..onnx_io.sessions import FAITHFUL, give_back, open_session
from ..report.verdict import QUANTIZED, Judgement, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto

    from ..data_readers import Feed
    from ..report.report import Report


# Beyond basic optimization onnxruntime fuses pairs into integer kernels, which saturate 16-bit sums on x86 CPUs without
# VNNI: that error is the CPU's, not the model's. It counts where it shows: both limits are
# choices. Kernels that do not saturate differ from the pairs by the rounding of a few codes, far below 2 dB.
LOST = 2.0  # decibels
SHOWS = 40.0  # decibels that are left
# With weights packed, MatMulNBits rounds its activations to eight bits.
PACKING_LOST = 0.5  # decibels
PACKED = (
    "output {output} has {default:.1f} dB in default sessions, where MatMulNBits rounds its activations to 8 bits, and "
    "{exact:.1f} dB with "
    "SessionOptions.add_session_config_entry('session.qdq_matmulnbits_accuracy_level', '0') or in VitisQuantFormat.QDQ"
)
# Seen with 1.20.1; 1.32 keeps such pairs.
MISREAD = (
    "default sessions of onnxruntime {release} take float8 for bytes where they fuse pairs, and do not load this "
    "model; give them SessionOptions.add_session_config_entry('session.disable_quant_qdq', '1'), or install "
    "onnxruntime 1.32"
)


def check_result(
    original: ModelProto,
    quantized: ModelProto,
    feeds: list[Feed],
    report: Report,
    *,
    pairs: ModelProto | None = None,
    adapt: Callable[[Feed], Feed] = lambda feed: feed,
    libraries: Iterable[Callable[[ort.SessionOptions], object]] = (),
    stages: Mapping[str, ModelProto] | None = None,
    changing: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Raise SelfCheckError unless the result is valid and runs; fill the report's SQNR by output, what of it
    onnxruntime's integer kernels lose on this CPU, and the verdict.

    Quantized operators run in those kernels at every level: ``pairs`` is the model that says what they should give.
    ``stages`` are the float models on the way whose function may differ from the original's, ``changing`` the steps
    that made it differ.
    """
    _check_valid(quantized, original, report)
    libraries = list(libraries)
    names = [value.name for value in quantized.graph.output]
    samples = [adapt(feed) for feed in feeds]
    # One session after the other: each holds the weights in a form of its own.
    weights = external_weights.size(original)
    written = _answers(quantized, libraries, FAITHFUL, names, samples)
    give_back(weights)
    keep_pairs = _misreads_float8(quantized, libraries)
    if keep_pairs:
        report.note(MISREAD.format(release=ort.__version__))
    everything = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    fused = _answers(quantized, libraries, everything, names, samples, keep_pairs=keep_pairs)
    give_back(weights)
    packed = fused
    if _has_packed_products(quantized) and not keep_pairs:
        packed = _answers(quantized, libraries, everything, names, samples, lean=False)
        give_back(weights)
    exact = written if pairs is None else _answers(pairs, libraries, FAITHFUL, names, samples)
    give_back(weights)
    if not feeds:
        return
    expected = float_answers(original, libraries, names, feeds)
    give_back(weights)
    open_sizes = open_outputs(original)
    comparable: dict[str, list[tuple[Any, ...]]] = {}
    for at, name in enumerate(names):
        answered = zip(expected, written, fused, exact, packed, strict=True)
        rows = [[sample[at] for sample in row] for row in answered]
        rows = [row for row in rows if isinstance(row[0], np.ndarray) and row[0].dtype.kind == "f"]
        for row in rows:
            _check_finite(name, row[0], row[1])
        alike = [row for row in rows if row[0].size and len({part.shape for part in row}) == 1]
        columns = list(zip(*alike, strict=True))
        if name in open_sizes or any(len({part.shape for part in row}) > 1 for row in rows):
            same = f"where sizes are equal, {_sqnr(columns[0], columns[1]):.1f} dB" if alike else ""
            report.note(sizes_told(name, rows, same))
        elif alike:
            _compare(name, columns, report)
            if len(alike) == len(feeds):
                comparable[name] = columns
    report.verdict = _verdict(original, comparable, stages or {}, changing or {}, libraries, feeds, report)
    for each in report.verdict.judgements:
        if each.objection is not None:
            report.objections.setdefault(each.name, each.objection)


def _misreads_float8(model: ModelProto, libraries: list[Callable[[ort.SessionOptions], object]]) -> bool:
    """Whether default sessions of this release make operators for bytes of float8 pairs, and then refuse them."""
    if not has_float8(model):
        return False
    try:
        open_session(model, libraries, ort.GraphOptimizationLevel.ORT_ENABLE_ALL, lean=True)
    except Exception:  # what cannot be loaded for another reason cannot be loaded with pairs kept either
        return True
    finally:
        give_back(external_weights.size(model))
    return False


def _verdict(
    original: ModelProto,
    comparable: Mapping[str, Sequence[Sequence[NDArray[Any]]]],
    stages: Mapping[str, ModelProto],
    changing: Mapping[str, Sequence[str]],
    libraries: list[Callable[[ort.SessionOptions], object]],
    feeds: list[Feed],
    report: Report,
) -> Verdict:
    """``comparable`` holds of each output its values in float and quantized, sample by sample."""
    found: dict[str, Mapping[str, Sequence[NDArray[Any]]]] = {}
    for stage, model in stages.items():
        answers = _stage_answers(stage, model, libraries, list(comparable), feeds, report)
        if answers is not None:
            found[stage] = answers
    found[QUANTIZED] = {name: columns[1] for name, columns in comparable.items()}
    reference = {name: columns[0] for name, columns in comparable.items()}
    judgements = judgements_of(reference, found, output_parts(original), class_axes(original))
    return Verdict([_with_steps(each, changing) for each in judgements], samples=len(feeds))


def _with_steps(judgement: Judgement, changing: Mapping[str, Sequence[str]]) -> Judgement:
    """With the steps of its worst stage, where they can be heard."""
    steps = changing.get(judgement.worst_stage(), ()) if judgement.decibels < LOUD else ()
    return replace(judgement, steps=tuple(dict.fromkeys(steps)))


def _stage_answers(
    stage: str,
    model: ModelProto,
    libraries: list[Callable[[ort.SessionOptions], object]],
    names: list[str],
    feeds: list[Feed],
    report: Report,
) -> dict[str, list[NDArray[Any]]] | None:
    """{output: its values by sample} of a float model on the way; None where it cannot be run alone."""
    try:
        session = open_session(model, libraries, lean=True)
        answers = [answer(session, names, adapt_feed(model, feed)) for feed in feeds]
    except Exception as error:
        report.note(f"what the {stage} model is worth is not known, onnxruntime does not run it: {error}")
        return None
    finally:
        give_back(external_weights.size(model))
    return {name: [sample[at] for sample in answers] for at, name in enumerate(names)}


def _compare(name: str, columns: Sequence[Sequence[NDArray[Any]]], report: Report) -> None:
    f, q, kernels, intended, packed = columns
    report.sqnr[name], report.fused[name] = _sqnr(f, q), _sqnr(f, kernels)
    lost = _sqnr(f, intended) - report.fused[name]
    if report.fused[name] < SHOWS and lost > LOST:
        report.integer_kernel_loss[name] = lost
    if kernels is not packed and report.fused[name] - _sqnr(f, packed) > PACKING_LOST:
        told = PACKED.format(output=name, default=_sqnr(f, packed), exact=report.fused[name])
        report.note(told)
        report.fused[name] = _sqnr(f, packed)
    found, in_default_session = objection(f, q), objection(f, packed)
    if found is not None:
        report.objections[name] = found
    elif in_default_session is not None:
        report.objections[name] = f"{in_default_session}, in a default session of onnxruntime on this CPU"


def _sqnr(reference: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> float:
    """Over all samples; what is not finite in float is left out."""
    f, q = (np.concatenate([part.ravel() for part in parts]) for parts in (reference, found))
    finite = np.isfinite(f)
    return sqnr_db(f[finite], q[finite])


def _answers(
    model: ModelProto,
    libraries: list[Callable[[ort.SessionOptions], object]],
    level: ort.GraphOptimizationLevel,
    names: list[str],
    feeds: list[Feed],
    *,
    lean: bool = True,
    keep_pairs: bool = False,
) -> list[Any]:
    """The outputs of the quantized model at one level of onnxruntime's optimization, sample by sample.

    What the model does not say of its inputs and outputs, it says afterwards.
    """
    try:
        session = open_session(model, libraries, level, lean=lean, keep_pairs=keep_pairs)
    except Exception as error:
        raise SelfCheckError(f"onnxruntime cannot load the quantized model: {error}") from error
    try:
        answers = [answer(session, names, feed) for feed in feeds]
    except QuantizationError:
        raise
    except Exception as error:
        where = "" if level == FAITHFUL else ", at full optimization only,"
        raise SelfCheckError(f"the quantized model fails{where} on a calibration sample: {error}") from error
    state_shapes(model, session, feeds, answers)
    return answers


def _has_packed_products(model: ModelProto) -> bool:
    """Whether default sessions turn products into MatMulNBits: a matrix of native codes, and not 8 bits beside it."""
    if not any(node.op_type in MATRIX_PRODUCTS for node in model.graph.node):
        return False
    graph = Graph(model, copy=False)

    def codes(tensor: str) -> str | None:
        node = graph.producer(tensor)
        return node.input[0] if node is not None and is_native(node, "DequantizeLinear") and not node.domain else None

    for node in graph.of_type(*MATRIX_PRODUCTS):
        weight = codes(node.input[1])
        if weight is not None and graph.is_constant(weight):
            beside = codes(node.input[0])
            if beside is None or graph.element_type(beside) not in EIGHT_BITS:
                return True
    return False


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
    finite = np.isfinite(reference)
    wrong = not np.isfinite(found[finite] if reference.shape == found.shape else found).all()
    if wrong and (reference.shape == found.shape or finite.all()):
        raise SelfCheckError(f"output {name} of the quantized model is not finite where the float model's is")
