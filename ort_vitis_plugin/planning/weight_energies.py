"""How much each element of a weight matters: the mean square of what it is multiplied with."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..calibration.channel_squares import Channels
from ..graph.weighted_inputs import weighted_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..graph import Graph
    from ..graph.weighted_inputs import WeightedInput


def channels_of(found: WeightedInput) -> Channels:
    """What calibration keeps for a weight."""
    return Channels(found.data, found.axis, found.channels, found.rank)


class WeightEnergies:
    """Mean squares by weight. A weight of several readers has the sum; one that is read as other data has none."""

    def __init__(self, graph: Graph, energies: Mapping[Channels, NDArray[np.float64]]) -> None:
        self._graph = graph
        self._energies = energies
        self._readers: dict[str, list[WeightedInput]] = {}
        if energies:
            for found in weighted_inputs(graph):
                self._readers.setdefault(found.weight, []).append(found)

    def energy(self, weight: str) -> NDArray[np.float64] | None:
        """Mean square of each input channel of a weight that one node reads, None where it is not known."""
        readers = self._readers.get(weight, [])
        return self._energies.get(channels_of(readers[0])) if len(readers) == 1 else None

    def importance(self, weight: str) -> NDArray[np.float32] | None:
        """By element of the weight, relative to the largest; None where it is not known, or 0 everywhere."""
        readers = self._readers.get(weight, [])
        if not readers or len(readers) != len(self._graph.consumers(weight)):
            return None
        total: NDArray[np.float64] = np.zeros(readers[0].shape)
        for found in readers:
            energy = self._energies.get(channels_of(found))
            if energy is None or energy.size != found.channels:
                return None
            spread = np.broadcast_to(energy.reshape(found.spread), found.grouped)
            total = total + spread.reshape(found.shape)
        most = float(total.max(initial=0.0))
        if not 0 < most < np.inf:
            return None
        return (total / most).astype(np.float32)
