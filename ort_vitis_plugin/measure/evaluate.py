"""Float against quantized, output by output, over all samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import custom_ops
from ..data_readers import adapt_feed
from ..errors import CalibrationError, ModelError
from ..foreign import public
from ..numerics.sqnr import decibels
from ..onnx_io.sessions import missing_operator, open_session
from ..plugin.op_functions import with_definitions

if TYPE_CHECKING:
    from collections.abc import Iterable

    import onnxruntime as ort
    from onnx import ModelProto

    from ..data_readers import Feed


class Difference(NamedTuple):
    """How far an output strays from float: SQNR in decibels, the largest difference, and in how many samples its size
    is another, which cannot be compared."""

    sqnr: float
    largest: float
    other_sizes: int


@public
def compare(model: ModelProto, quantized: ModelProto, feeds: Iterable[Feed]) -> dict[str, Difference]:
    """{output: its difference} over all samples; nothing but sums is kept of them.

    Functions of our operators are added where the quantized model has none.

    Raises:
        ModelError: onnxruntime does not load or run one of the models, or an output is missing.
        CalibrationError: there is no sample.
    """
    left, right = _session(model, "float"), _session(with_definitions(quantized), "quantized")
    names = [value.name for value in left.get_outputs()]
    missing = set(names) - {value.name for value in right.get_outputs()}
    if missing:
        raise ModelError(f"the quantized model has no output {sorted(missing)[0]!r}; is it made from this float model?")
    constants = {value.name for value in model.graph.input} - {value.name for value in quantized.graph.input}
    signal, noise, largest = (dict.fromkeys(names, 0.0) for _ in range(3))
    other = dict.fromkeys(names, 0)
    count = 0
    for feed in feeds:
        count += 1
        known = {name: value for name, value in feed.items() if name not in constants}
        answers = zip(names, _run(left, names, known), _run(right, names, adapt_feed(quantized, known)), strict=True)
        for name, f, q in answers:
            if not isinstance(f, np.ndarray) or f.dtype.kind != "f":
                continue
            if f.shape != np.shape(q):
                other[name] += 1
                continue
            if not f.size:
                continue
            f = f.astype(np.float64)
            difference = f - np.asarray(q, dtype=np.float64)
            signal[name] += float(np.sum(f**2))
            noise[name] += float(np.sum(difference**2))
            largest[name] = max(largest[name], float(np.max(np.abs(difference))))
    if not count:
        raise CalibrationError("there is no sample to compare on")
    return {name: Difference(decibels(signal[name], noise[name]), largest[name], other[name]) for name in names}


def _session(model: ModelProto, which: str) -> ort.InferenceSession:
    try:
        return open_session(model, [custom_ops.register])
    except Exception as error:
        raise ModelError(f"onnxruntime cannot load the {which} model: {error}{missing_operator(error)}") from error


def _run(session: ort.InferenceSession, names: list[str], feed: Feed) -> list[Any]:
    try:
        return list(session.run(names, feed))
    except Exception as error:
        raise ModelError(f"onnxruntime cannot run a model on a sample: {error}") from error
