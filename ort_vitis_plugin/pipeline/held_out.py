"""Samples that judge: spread evenly over the reader, run through the float network once."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from ..convert.evaluation_twin import evaluation_twin
from ..data_readers import adapt_feed
from ..measure.network_error import NetworkError, network_error
from ..onnx_io import external_weights
from ..onnx_io.sessions import open_session, register_all
from .corrections import FEWEST

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..data_readers import Feed
    from ..request.call import Call

MOST_JUDGES = 8
REFUSALS = (
    *(ort_errors.Fail, ort_errors.InvalidGraph, ort_errors.InvalidArgument, ort_errors.NotImplemented),
    ort_errors.RuntimeException,
)


def judges_of(call: Call, samples: int) -> list[Feed]:
    """At most 8 of the call's samples, as the prepared model takes them; none where they cannot be read again."""
    if samples < FEWEST:
        return []
    count = min(max(samples // 4, 2), MOST_JUDGES)
    wanted = set(np.linspace(0, samples - 1, count).astype(int).tolist())
    found = []
    for number, feed in enumerate(call.samples.again()):
        if number in wanted:
            found.append(feed)
        if len(found) == len(wanted):
            break
    return found


class HeldOut:
    """The float network's outputs on samples that judge, and how far others are from them."""

    def __init__(self, call: Call, reference: ModelProto, feeds: list[Feed]) -> None:
        self._call, self._feeds = call, feeds
        self._outputs = [value.name for value in reference.graph.output]
        self._wanted = self._run(open_session(reference, [register_all(call.libraries)]), reference)

    def error_of(self, quantized: ModelProto) -> NetworkError:
        """How far a quantized model is from float; power-of-two models are run as their evaluation twins."""
        if not self._call.method.power_of_two:
            return network_error(self._wanted, self._run(self._call.open_session(quantized), quantized))
        twin = evaluation_twin(quantized)
        options = twin.session_options()
        options.log_severity_level = 4
        register_all(self._call.libraries)(options)
        session = external_weights.lend_to_session(twin.model, options)
        return network_error(self._wanted, self._run(session, quantized))

    def _run(self, session: ort.InferenceSession, model: ModelProto) -> list[list[Any]]:
        return [session.run(self._outputs, adapt_feed(model, feed)) for feed in self._feeds]
