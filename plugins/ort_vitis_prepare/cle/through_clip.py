"""A factor passes a Clip to a limit where it does not act, neither before nor behind.

    s <= limit / (2 m)        m: the largest value of the channel over samples

Samples to come may so be twice as large. A channel that comes as near to its limit already keeps its factor of 1.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from onnx import ModelProto, ValueInfoProto

from ort_vitis_plugin.api import first_samples

from .pairs import limit_of

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context, Graph

    from .layer import Channels
    from .pairs import Seam

ROOM = 2.0
SAMPLES = 32


class Limits(NamedTuple):
    """Between what a seam's factors must lie, channel by channel."""

    least: Channels
    most: Channels


def limits_of(graph: Graph, context: Context, found: list[Seam]) -> tuple[list[Seam], dict[int, Limits]]:
    """The seams that factors may pass, and by their ``id`` the limits of those with a Clip.

    Without samples that can be read twice none passes a Clip.
    """
    clipped = [seam for seam in found if seam.clips]
    names = list(dict.fromkeys(clip.input[0] for seam in clipped for clip in seam.clips))
    largest = _largest(graph, context, names) if names else {}
    limits: dict[int, Limits] = {}
    for seam in clipped:
        factors = [(limit_of(graph, clip) or 0.0) / largest[clip.input[0]] / ROOM for clip in seam.clips if largest]
        if not factors or any(factor.shape != seam.head.out_scale.shape for factor in factors):
            graph.skip(seam.head.node, f"{seam.clips[0].name} clips, and there are no samples that tell where")
            continue
        most = np.min(factors, axis=0)
        acts = most < 1.0
        limits[id(seam)] = Limits(np.where(acts, 1.0, 0.0), np.where(acts, 1.0, most))
    return [seam for seam in found if not seam.clips or id(seam) in limits], limits


def _largest(graph: Graph, context: Context, names: list[str]) -> dict[str, Channels]:
    """By tensor the largest value of every channel over samples; empty without samples."""
    model = ModelProto()
    model.CopyFrom(graph.to_model())
    feeds = first_samples(context, model, SAMPLES)
    if not feeds:
        return {}
    known = {value.name for value in model.graph.output}
    model.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in known)
    session, peaks = context.open_session(model, fast=True), dict.fromkeys(names, np.asarray(1e-9))
    for feed in feeds:
        for name, value in zip(names, session.run(names, dict(feed)), strict=True):
            channels = np.moveaxis(value, 1, 0).reshape(value.shape[1], -1)
            peaks[name] = np.maximum(peaks[name], channels.max(axis=1).astype(np.float64))
    return peaks
