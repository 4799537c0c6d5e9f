"""Float against quantized, output by output, over all samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from .. import custom_ops
from ..data_readers import adapt_feed
from ..errors import CalibrationError, ModelError
from ..foreign import public
from ..numerics.sqnr import decibels
from ..plugin.op_functions import with_definitions
from .answers import loaded

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


class Comparison:
    """Sums over samples of two models that are run side by side; nothing else is kept of them.

    Raises:
        ModelError: onnxruntime does not load one of the models, or their inputs or outputs differ in name.
    """

    def __init__(self, model: ModelProto, quantized: ModelProto) -> None:
        self.sessions = (
            loaded(model, "float", [custom_ops.register]),
            loaded(with_definitions(quantized), "quantized", [custom_ops.register]),
        )
        self.names = [value.name for value in self.sessions[0].get_outputs()]
        missing = set(self.names) - {value.name for value in self.sessions[1].get_outputs()}
        if missing:
            raise ModelError(
                f"the quantized model has no output {sorted(missing)[0]!r}; is it made from this float model?"
            )
        known = {value.name for value in model.graph.input}
        unfed = [value.name for value in self.sessions[1].get_inputs() if value.name not in known]
        if unfed:
            raise ModelError(
                f"the quantized model's input {unfed[0]!r} is none of the float model's ({', '.join(sorted(known))}); "
                "is it made from this float model?"
            )
        self.seconds: tuple[list[float], list[float]] = [], []
        self._quantized = quantized
        self._constants = {value.name for value in model.graph.input} - {value.name for value in quantized.graph.input}
        self._signal, self._noise, self._largest = (dict.fromkeys(self.names, 0.0) for _ in range(3))
        self._other = dict.fromkeys(self.names, 0)

    def run(self, feed: Feed) -> tuple[list[Any], list[Any]]:
        """Both models' outputs on a sample as the float model takes it, counted.

        Who ran last begins: a model that runs again finds its weights in the CPU's cache.

        Raises:
            ModelError: onnxruntime does not run one of them.
        """
        known = {name: value for name, value in feed.items() if name not in self._constants}
        feeds = known, adapt_feed(self._quantized, known)
        found: list[list[Any]] = [[], []]
        for at in (0, 1) if len(self.seconds[0]) % 2 == 0 else (1, 0):
            found[at] = self._timed(at, feeds[at])
        for name, f, q in zip(self.names, *found, strict=True):
            self._add(name, f, q)
        return found[0], found[1]

    def differences(self) -> dict[str, Difference]:
        """{output: its difference}."""
        return {
            name: Difference(decibels(self._signal[name], self._noise[name]), self._largest[name], self._other[name])
            for name in self.names
        }

    def _timed(self, at: int, feed: Feed) -> list[Any]:
        start = time.perf_counter()
        found = _run(self.sessions[at], self.names, feed)
        self.seconds[at].append(time.perf_counter() - start)
        return found

    def _add(self, name: str, f: Any, q: Any) -> None:
        if not isinstance(f, np.ndarray) or f.dtype.kind != "f":
            return
        if f.shape != np.shape(q):
            self._other[name] += 1
        elif f.size:
            f = f.astype(np.float64)
            difference = f - np.asarray(q, dtype=np.float64)
            self._signal[name] += float(np.sum(f**2))
            self._noise[name] += float(np.sum(difference**2))
            self._largest[name] = max(self._largest[name], float(np.max(np.abs(difference))))


@public
def compare(model: ModelProto, quantized: ModelProto, feeds: Iterable[Feed]) -> dict[str, Difference]:
    """{output: its difference} over all samples; nothing but sums is kept of them.

    Functions of our operators are added where the quantized model has none.

    Raises:
        ModelError: onnxruntime does not load or run one of the models, or an output is missing.
        CalibrationError: there is no sample.
    """
    comparison = Comparison(model, quantized)
    for feed in feeds:
        comparison.run(feed)
    if not comparison.seconds[0]:
        raise CalibrationError("there is no sample to compare on")
    return comparison.differences()


def _run(session: ort.InferenceSession, names: list[str], feed: Feed) -> list[Any]:
    try:
        return list(session.run(names, feed))
    except InvalidArgument as error:
        raise ModelError(
            f"a model does not take the samples; is the quantized one made from this float model? ({error})"
        ) from error
    except Exception as error:
        raise ModelError(f"onnxruntime cannot run a model on a sample: {error}") from error
