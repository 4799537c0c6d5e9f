"""What the channels of tensors hold over samples: their energy, and how far they go."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from onnx import ModelProto, ValueInfoProto

from ort_vitis_plugin.api import first_samples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ort_vitis_plugin.api import Context, Graph

    from .layer import Channels

SAMPLES = 32
LEAST = 1e-9


@dataclass
class Observed:
    """By channel the mean square, the largest value and the largest magnitude, over samples and positions."""

    energy: Channels
    largest: Channels
    peak: Channels

    def add(self, values: NDArray[np.floating], samples: int) -> None:
        """One of so many samples: [batch, channel, ...]."""
        channels = np.moveaxis(values, 1, 0).reshape(values.shape[1], -1).astype(np.float64)
        self.energy = self.energy + np.square(channels).mean(axis=1) / samples
        self.largest = np.maximum(self.largest, channels.max(axis=1))
        self.peak = np.maximum(self.peak, np.abs(channels).max(axis=1))


def observed(graph: Graph, context: Context, names: Iterable[str]) -> dict[str, Observed]:
    """What the named tensors hold over the first samples; empty without samples that can be read twice."""
    model = ModelProto()
    model.CopyFrom(graph.to_model())
    feeds = first_samples(context, model, SAMPLES)
    if not feeds:
        return {}
    names = list(dict.fromkeys(names))
    known = {value.name for value in model.graph.output}
    made = [name for name in names if name not in feeds[0]]
    model.graph.output.extend(ValueInfoProto(name=name) for name in made if name not in known)
    session, least = context.open_session(model, fast=True), np.asarray(LEAST)
    found = {name: Observed(np.asarray(0.0), least, least) for name in names}
    for feed in feeds:
        values = dict(zip(made, session.run(made, dict(feed)), strict=True))
        for name in names:
            found[name].add(values[name] if name in values else np.asarray(feed[name]), len(feeds))
    return found
