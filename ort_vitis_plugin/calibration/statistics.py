"""What calibration leaves behind: a sketch per tensor, and what the method gathered sample by sample."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..sketch import Sketch
    from .channel_squares import Channels


@dataclass
class Statistics(Mapping[str, "Sketch"]):
    """Tensor name -> sketch over all samples. ``collected`` is the method's collector, None for most methods.

    ``exact`` holds squared errors (with their zero points) by tensor and position, from a second pass, for the
    activation type of the run. ``ranges`` states ranges by tensor, whatever the sketches say (calibration_cache_path).
    ``energies`` are mean squares of channels that weights multiply; empty where they are not known. ``constants`` are
    those that corrections found in the call that kept the ranges, None where this call has samples.
    """

    sketches: Mapping[str, Sketch] = field(default_factory=dict)
    samples: int = 0
    collected: Any = None
    exact: Mapping[str, Mapping[int, tuple[float, int]]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    energies: Mapping[Channels, NDArray[np.float64]] = field(default_factory=dict)
    constants: Mapping[str, NDArray[Any]] | None = None

    def __getitem__(self, tensor: str) -> Sketch:
        return self.sketches[tensor]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sketches)

    def __len__(self) -> int:
        return len(self.sketches)
