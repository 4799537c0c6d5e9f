"""Float against quantized, output by output, over all samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from .. import custom_ops
from ..data_readers import adapt_feed
from ..errors import CalibrationError, ModelError
from ..numerics.sqnr import decibels
from ..onnx_io.sessions import open_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import ModelProto

    from ..data_readers import Feed


def compare(model: ModelProto, quantized: ModelProto, feeds: Iterable[Feed]) -> dict[str, tuple[float, float]]:
    """{output: (SQNR in dB, largest difference)} over all samples; nothing but sums is kept of them.

    Raises:
        ModelError: the models have different outputs.
        CalibrationError: there is no sample.
    """
    left, right = (open_session(part, [custom_ops.register]) for part in (model, quantized))
    names = [value.name for value in left.get_outputs()]
    missing = set(names) - {value.name for value in right.get_outputs()}
    if missing:
        raise ModelError(f"the quantized model has no output {sorted(missing)[0]!r}; is it made from this float model?")
    adapt = partial(adapt_feed, quantized)
    signal, noise, largest = (dict.fromkeys(names, 0.0) for _ in range(3))
    count = 0
    for feed in feeds:
        count += 1
        try:
            found = right.run(names, adapt(feed))
        except InvalidArgument as error:
            raise ModelError(
                f"the quantized model does not take the samples; is it made from this float model? ({error})"
            ) from error
        for name, f, q in zip(names, left.run(names, feed), found, strict=True):
            if not isinstance(f, np.ndarray) or f.dtype.kind != "f" or not f.size:
                continue
            f = f.astype(np.float64)
            difference = f - np.asarray(q, dtype=np.float64)
            signal[name] += float(np.sum(f**2))
            noise[name] += float(np.sum(difference**2))
            largest[name] = max(largest[name], float(np.max(np.abs(difference))))
    if not count:
        raise CalibrationError("there is no sample to compare on")
    return {
        name: (
            decibels(signal[name], noise[name]),
            largest[name],
        )
        for name in names
    }
