"""Sessions on the CPU: their options, the libraries that they need, and the memory that they give back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ctypes
import sys
from functools import partial
from typing import TYPE_CHECKING

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from ..errors import LibraryNotFoundError, ModelError
from . import external_weights
from .save import LARGEST_FILE, model_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnx import ModelProto

# What onnxruntime raises for a model that it does not take; no class of its own is above them.
REFUSALS = (ort_errors.Fail, ort_errors.InvalidGraph, ort_errors.InvalidArgument, ort_errors.NotImplemented)
UNKNOWN_OPERATOR = ("is not a registered function/op", "No Op registered for", "No opset import for domain")
AS_WRITTEN = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
FAITHFUL = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
FASTEST = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
WARNING, QUIET, SILENT = 2, 3, 4  # onnxruntime's default; errors; what ends the process


# What a session frees stays with the C library's heap, and the next session's memory comes on top of it. A walk over
# the whole heap, whose time grows with the process, is worth it for so many bytes.
WORTH_A_WALK = 1 << 24


def give_back(freed: int) -> None:
    """Hand memory back to the system where so many bytes are freed, and the C library can (glibc)."""
    if sys.platform == "linux" and freed >= WORTH_A_WALK:
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _register(paths: tuple[str, ...], options: ort.SessionOptions) -> None:
    options.log_severity_level = QUIET
    for path in paths:
        try:
            options.register_custom_ops_library(path)
        except Exception as error:
            raise ModelError(f"the custom-op library {path!r} cannot be loaded: {error}") from error


def register_all(paths: Iterable[str]) -> Callable[[ort.SessionOptions], None]:
    """What registers these custom-op libraries with a session; it can be sent to another process."""
    return partial(_register, tuple(paths))


def missing_operator(error: object) -> str:
    """What to do about operators that onnxruntime does not know, where its error is about them; else nothing."""
    text = str(error)
    if not any(words in text for words in UNKNOWN_OPERATOR):
        return ""
    return (
        "; give the library that has the operator with extra_options={'CustomOpLibraries': [path]} (that of "
        "onnxruntime-extensions is onnxruntime_extensions.get_library_path())"
    )


def extensions_library() -> str:
    """Path of onnxruntime-extensions' library.

    Raises:
        LibraryNotFoundError: the package is not installed.
    """
    try:
        from onnxruntime_extensions import get_library_path
    except ImportError as error:
        raise LibraryNotFoundError(
            "the model has operators of ai.onnx.contrib: install onnxruntime-extensions, or give the library that has "
            "them with extra_options={'CustomOpLibraries': [path]}"
        ) from error
    return str(get_library_path())


def session_options(level: ort.GraphOptimizationLevel = FAITHFUL, severity: int = QUIET) -> ort.SessionOptions:
    """Options of a session that optimizes up to ``level`` and logs from ``severity`` (onnxruntime's numbers) on."""
    options = ort.SessionOptions()
    options.log_severity_level = severity
    options.graph_optimization_level = level
    return options


def open_session(
    model: ModelProto,
    libraries: Iterable[Callable[[ort.SessionOptions], object]] = (),
    level: ort.GraphOptimizationLevel = FAITHFUL,
    *,
    lean: bool = False,
    keep_pairs: bool = False,
) -> ort.InferenceSession:
    """A session on the CPU, quiet. A ``lean`` one holds no weight or activation longer than it is needed, and none
    packed for speed. With ``keep_pairs`` quantize and dequantize nodes are computed as they are written, whatever the
    level does to the rest."""
    options = session_options(level)
    if keep_pairs:
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    if lean:
        options.add_session_config_entry("session.disable_prepacking", "1")
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        # The default order dequantizes all weights before the first layer.
        options.execution_order = ort.ExecutionOrder.PRIORITY_BASED
    for register in libraries:
        register(options)
    if model_size(model) < LARGEST_FILE:
        return external_weights.lend_to_session(model, options)
    with external_weights.external_weights_scope():
        return external_weights.lend_to_session(external_weights.externalize(model), options)
