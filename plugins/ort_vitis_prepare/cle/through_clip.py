"""A factor passes a Clip to a limit where it does not act, neither before nor behind.

    s <= limit / (2 m)        m: the largest value of the channel over samples

Samples to come may so be twice as large. A channel that comes as near to its limit already keeps its factor of 1.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .channels import observed
from .pairs import limit_of

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context, Graph

    from .layer import Channels
    from .pairs import Seam

ROOM = 2.0


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
    channels = observed(graph, context, names) if names else {}
    limits: dict[int, Limits] = {}
    for seam in clipped:
        factors = [
            (limit_of(graph, clip) or 0.0) / channels[clip.input[0]].largest / ROOM for clip in seam.clips if channels
        ]
        if not factors or any(factor.shape != seam.head.out_scale.shape for factor in factors):
            graph.skip(seam.head.node, f"{seam.clips[0].name} clips, and there are no samples that tell where")
            continue
        most = np.min(factors, axis=0)
        acts = most < 1.0
        limits[id(seam)] = Limits(np.where(acts, 1.0, 0.0), np.where(acts, 1.0, most))
    return [seam for seam in found if not seam.clips or id(seam) in limits], limits
