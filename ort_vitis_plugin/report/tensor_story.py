"""A quantized tensor tells where its parameters came from, what moved them, and what they cost."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ..numerics.sqnr import decibels

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class TensorStory:
    """One tensor of the written model.

    ``type`` is empty where the tensor has no pair: ``dropped`` then says why. ``scale`` has one number, or one per
    channel along ``axis``; ``position`` is p where the scale is one power of two, 2^-p. ``shares`` names the tensor
    whose parameters it takes; ``moved_by`` are the rules that changed the position ``moved_from``; ``changes`` is what
    else happened to the parameters or to the constant, in order. ``error`` is the squared error over the energy of the
    values, None where nobody asked for it (option ``ExplainTensors``) and no search computed it anyway.
    """

    name: str
    role: str
    origin: str = ""
    type: str = ""
    scale: Numbers = ()
    zero_point: tuple[int, ...] = ()
    axis: int | None = None
    position: int | None = None
    shares: str = ""
    moved_from: int | None = None
    moved_by: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    dropped: str = ""
    error: float | None = None

    @property
    def decibels(self) -> float | None:
        """The error as signal to noise in decibels; infinite where codes hold the values exactly."""
        return None if self.error is None else decibels(1.0, self.error)

    def as_dict(self) -> dict[str, Any]:
        """Plain data; infinite decibels become None."""
        level = self.decibels
        return {**asdict(self), "decibels": level if level is not None and level < float("inf") else None}

    def lines(self) -> Iterator[tuple[str, str]]:
        """What there is to tell, (subject, text)."""
        yield "role", self.role
        if self.dropped:
            yield "no pair", self.dropped
        if self.type:
            yield "type", self.type
        if self.scale:
            channels = f" along axis {self.axis} ({len(self.scale)} channels)" if self.axis is not None else ""
            yield "scale", f"{_spread(self.scale)}{channels}"
        if self.zero_point:
            yield "zero point", _spread(self.zero_point)
        if self.position is not None:
            yield "position", str(self.position)
        if self.origin:
            yield "comes from", self.origin
        if self.shares:
            yield "shares with", self.shares
        if self.moved_from is not None:
            yield "moved", f"from position {self.moved_from} by {', '.join(self.moved_by)}"
        for change in self.changes:
            yield "changed", change
        if self.error is not None:
            yield "error", f"{self.error:.3g} of its energy ({self.decibels:.1f} dB)"


def _spread(values: tuple[float, ...]) -> str:
    low, high = min(values), max(values)
    return f"{low:.9g}" if low == high else f"{low:.9g} to {high:.9g}"
