"""What a session gives are views of its memory: kept over many samples, all of that memory stays."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort

from ..errors import ModelError, QuantizationError
from ..graph.subgraphs import all_nodes
from ..onnx_io.sessions import missing_operator, open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from onnx import ModelProto

    from ..data_readers import Feed


def loaded(
    model: ModelProto, which: str, libraries: Iterable[Callable[[ort.SessionOptions], object]]
) -> ort.InferenceSession:
    """A session of the ``which`` ("float", "quantized") model.

    Raises:
        ModelError: onnxruntime does not load it.
    """
    try:
        return open_session(model, libraries)
    except Exception as error:
        raise ModelError(f"onnxruntime cannot load the {which} model: {error}{missing_operator(error)}") from error


def answer(session: ort.InferenceSession, names: Sequence[str], feed: Feed) -> list[Any]:
    """These outputs on one sample, in memory of their own."""
    return [value.copy() if isinstance(value, np.ndarray) else value for value in session.run(list(names), feed)]


def float_answers(
    original: ModelProto,
    libraries: Iterable[Callable[[ort.SessionOptions], object]],
    names: Sequence[str],
    feeds: Iterable[Feed],
) -> list[list[Any]]:
    """What the float model gives, sample by sample: as it came, or else without names of nodes (onnxruntime refuses
    equal ones) and with basic optimization (without it onnxruntime loses tensors that only a branch reads).

    Raises:
        ModelError: onnxruntime runs it in neither way.
    """
    unnamed = onnx.ModelProto()
    try:
        session = open_session(original, libraries, ort.GraphOptimizationLevel.ORT_DISABLE_ALL, lean=True)
        return [answer(session, names, feed) for feed in feeds]
    except QuantizationError:
        raise
    except Exception:
        unnamed.CopyFrom(original)
        for node in all_nodes(unnamed):
            node.name = ""
    try:
        session = open_session(unnamed, libraries, lean=True)
        return [answer(session, names, feed) for feed in feeds]
    except QuantizationError:
        raise
    except Exception as error:
        raise ModelError(f"onnxruntime cannot run the float model: {error}") from error
