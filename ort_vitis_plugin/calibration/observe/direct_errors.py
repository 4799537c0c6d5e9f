"""Beyond 8 bits a sketch leaves a few positions open: a second pass over the samples settles which is best."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...sketch import squared_error_direct
from .observed_model import Probe
from .run_sample import numbered, values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from onnx import ModelProto

    from ...sketch.view import Floats
    from .observation import Configure, Feed


@dataclass(frozen=True)
class Candidates:
    """Positions of one tensor to compare, for integers of that range."""

    positions: Sequence[int]
    qmin: int
    qmax: int
    zero_point: int = 0


def direct_errors(
    model: ModelProto | str | Path,
    candidates: Mapping[str, Candidates],
    feeds: Iterable[Feed],
    *,
    providers: Sequence[Any] = ("CPUExecutionProvider",),
    configure: Configure | None = None,
) -> dict[str, Floats]:
    """Squared errors of candidate positions from the values themselves, in a second pass over the same feeds.

    For integers beyond 8 bits, where a sketch is exact only in part: see ``Sketch.contenders``.
    """
    probe = Probe(model, list(candidates))
    session = probe.fetching_session(list(providers), configure)
    probe.check_types(session)
    errors = {name: np.zeros(len(each.positions)) for name, each in candidates.items()}

    def add(name: str, values: NDArray[Any]) -> None:
        each = candidates[name]
        errors[name] += squared_error_direct(values, each.positions, each.qmin, each.qmax, each.zero_point)

    for name, constant in probe.constants.items():
        add(name, constant)
    for index, feed in enumerate(numbered(feeds, 0)):
        for name, values in values_of(session, probe, feed, index):
            add(name, values)
    return errors
