"""What fine-tuning found, layer by layer and as constants."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class LayerResult:
    """What became of one layer: the candidate taken, and the held-out mean square of its output's error.

    ``moved`` says by how many positions its weights moved.
    """

    node: str
    candidate: str
    before: float
    after: float
    reason: str = ""
    moved: int = 0


@dataclass
class Finetuned:
    """Constants by their names in the float network; empty where nothing became better.

    ``codes`` are those of weights, ``weights`` and ``biases`` values in float32 on their grids; ``moved`` says by how
    many positions weights moved, those that did. ``before`` and ``after`` are the network's held-out errors:
    |f - q|^2 / |f|^2, the mean over samples and parts of its outputs.
    """

    codes: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    weights: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    biases: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)
    layers: list[LayerResult] = field(default_factory=list)
    before: float = math.nan
    after: float = math.nan
    interrupted: bool = False
    reused: bool = False

    @contextmanager
    def interruptible(self, *, keep: bool) -> Iterator[None]:
        """An interrupt inside ends the work, and is passed on unless the layers that are done are to be kept."""
        try:
            yield
        except KeyboardInterrupt:
            if not keep:
                raise
            self.interrupted = True
