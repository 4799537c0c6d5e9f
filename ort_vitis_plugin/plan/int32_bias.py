"""An int32 bias has the scale of the product that it is added to, and must not overflow there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def int32_bias_scale(bias: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factor, at least 1, by which ``scale`` must grow so that no |bias| / scale exceeds 2^31 - 1."""
    limit = float(2**31 - 1)
    reach = np.abs(np.asarray(bias, dtype=np.float64))
    if scale.ndim == 0:
        reach = np.asarray(reach.max(initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(scale > 0, reach / (limit * scale), 1.0)
    # A hair more, so that rounding the scale to float32 does not undo it.
    return np.where(factor > 1.0, factor * 1.0001, 1.0)


def by_channel(bias: NDArray[Any], channels: int) -> NDArray[Any]:
    """The bias with a value for each channel in its last axis.

    A Gemm adds what broadcasts to [rows, channels]; a grouped ConvTranspose has as many channels of weights as a group
    has outputs, and each group's share of the bias is a row here.
    """
    if bias.ndim == 1 and bias.size > channels:
        return bias.reshape(-1, channels)
    return np.broadcast_to(bias, (*bias.shape[:-1], channels))


def int32_bias_positions(bias: NDArray[Any]) -> int | None:
    """The largest x + w at which an int32 bias of scale 2^-(x + w) does not overflow; None when the bias is zero."""
    reach = float(np.abs(np.asarray(bias, dtype=np.float64)).max(initial=0.0))
    if reach == 0 or not math.isfinite(reach):
        return None
    return math.floor(math.log2((2**31 - 1) / reach))
