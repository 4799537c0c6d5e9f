"""The result is checked before it is handed over: valid, loads, runs, finite, and near the float model."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort

from .errors import ModelError, SelfCheckError
from .numerics import sqnr_db
from .saving import LARGEST_FILE, model_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnx import ModelProto

    from .data_readers import Feed
    from .report import Report


# Beyond basic optimization onnxruntime fuses pairs into integer kernels, which saturate 16-bit sums on x86 CPUs without
# VNNI: that error is the CPU's, not the model's. It counts where it shows.
LOST = 2.0  # decibels
SHOWS = 40.0  # decibels that are left
FAITHFUL = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC


def _register(paths: tuple[str, ...], options: ort.SessionOptions) -> None:
    options.log_severity_level = 3
    for path in paths:
        try:
            options.register_custom_ops_library(path)
        except Exception as error:
            raise ModelError(f"the custom-op library {path!r} cannot be loaded: {error}") from error


def register_all(paths: Iterable[str]) -> Callable[[ort.SessionOptions], None]:
    """What registers these custom-op libraries with a session; it can be sent to another process."""
    return partial(_register, tuple(paths))


def open_session(
    model: ModelProto,
    libraries: Iterable[Callable[[ort.SessionOptions], object]] = (),
    level: ort.GraphOptimizationLevel = FAITHFUL,
) -> ort.InferenceSession:
    """A session on the CPU, quiet; larger models go through a temporary file."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = level
    for register in libraries:
        register(options)
    if model_size(model) < LARGEST_FILE:
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    import tempfile
    from pathlib import Path

    from .saving import save_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        save_model(model, path, external_data=True)
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def check_result(
    original: ModelProto,
    quantized: ModelProto,
    feeds: list[Feed],
    report: Report,
    *,
    adapt: Callable[[Feed], Feed] = lambda feed: feed,
    libraries: Iterable[Callable[[ort.SessionOptions], object]] = (),
) -> None:
    """Raise SelfCheckError unless the result is valid and runs; fill the report's SQNR by output, and what of it
    onnxruntime's integer kernels lose on this CPU."""
    _check_valid(quantized)
    libraries = list(libraries)
    try:
        session = open_session(quantized, libraries)
        fused = open_session(quantized, libraries, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    except Exception as error:
        raise SelfCheckError(f"onnxruntime cannot load the quantized model: {error}") from error
    if not feeds:
        return
    names = [value.name for value in session.get_outputs()]
    expected: dict[str, list[Any]] = {name: [] for name in names}
    actual: dict[str, list[Any]] = {name: [] for name in names}
    for feed, wanted in zip(feeds, _reference(original, libraries, names, feeds), strict=True):
        try:
            found = session.run(names, adapt(feed))
        except Exception as error:
            raise SelfCheckError(f"the quantized model fails on a calibration sample: {error}") from error
        for name, f, q in zip(names, wanted, found, strict=True):
            if not isinstance(f, np.ndarray) or f.dtype.kind != "f" or f.size == 0:
                continue
            _check_finite(name, f, q)
            expected[name].append(f.ravel())
            actual[name].append(q.ravel())
    try:
        first = fused.run(names, adapt(feeds[0]))
    except Exception as error:
        raise SelfCheckError(f"the quantized model runs only below onnxruntime's full optimization: {error}") from error
    for name, integer in zip(names, first, strict=True):
        if not actual[name] or not isinstance(integer, np.ndarray) or integer.size != actual[name][0].size:
            continue
        f, written, fused = expected[name][0], actual[name][0], integer.ravel()
        finite = np.isfinite(f) & np.isfinite(written) & np.isfinite(fused)
        if f.size != fused.size:
            continue
        left = sqnr_db(f[finite], fused[finite])
        lost = sqnr_db(f[finite], written[finite]) - left
        if left < SHOWS and lost > LOST:
            report.saturation[name] = lost
    for name in names:
        if expected[name]:
            f, q = np.concatenate(expected[name]), np.concatenate(actual[name])
            if f.shape != q.shape:
                raise SelfCheckError(f"output {name} has another shape than in the float model")
            finite = np.isfinite(f)
            report.sqnr[name] = sqnr_db(f[finite], q[finite])


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
        session = open_session(original, libraries, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
        return [session.run(names, feed) for feed in feeds]
    except Exception:
        unnamed.CopyFrom(original)
        for node in unnamed.graph.node:
            node.name = ""
    try:
        session = open_session(unnamed, libraries)
        return [session.run(names, feed) for feed in feeds]
    except Exception as error:
        raise ModelError(f"onnxruntime cannot run the float model: {error}") from error


def _check_valid(model: ModelProto) -> None:
    try:
        if model_size(model) < LARGEST_FILE:
            onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise SelfCheckError(f"the quantized model is not valid ONNX: {error}") from error


def _check_finite(name: str, reference: Any, found: Any) -> None:
    if reference.shape == found.shape and not np.isfinite(found[np.isfinite(reference)]).all():
        raise SelfCheckError(f"output {name} of the quantized model is not finite where the float model's is")
