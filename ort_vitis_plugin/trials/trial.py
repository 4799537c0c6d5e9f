"""A trial is a row: what was changed, what the result is worth, and what it costs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..plugin.entries import full_name

Configuration = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """``configuration`` holds keyword arguments of quantize_static. ``score`` is None where the trial failed, for
    ``failure``. ``on_device`` counts quantized nodes that the device takes, ``size`` bytes; ``gain`` is against the
    first trial. ``exchanged`` is the score where the samples that judge choose ranges, and those that chose judge; None
    where that was not asked."""

    what: str
    configuration: Configuration = field(repr=False)
    score: float | None = None
    gain: float | None = None
    on_device: int = 0
    size: int = 0
    seconds: float = 0.0
    failure: str = ""
    exchanged: float | None = None

    @property
    def worth(self) -> float | None:
        """The mean of both scores, where both are known."""
        return self.score if self.score is None or self.exchanged is None else (self.score + self.exchanged) / 2

    @property
    def key(self) -> str:
        """The same for equal configurations."""
        return key_of(self.configuration)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "what": self.what,
            "configuration": plain(self.configuration),
            "score": self.score,
            "gain": self.gain,
            "on_device": self.on_device,
            "size": self.size,
            "seconds": self.seconds,
            "failure": self.failure,
            "exchanged": self.exchanged,
        }


def key_of(configuration: Configuration) -> str:
    """One line of text for a configuration, whatever the order of its keys."""
    return json.dumps(plain(configuration), sort_keys=True)


def plain(value: Any) -> Any:
    """A configuration as JSON and TOML have it: enum members by name, numpy scalars as numbers."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    name = full_name(value)
    return name.rpartition(".")[2] if type(value).__name__.endswith("QuantType") else name


def pareto(trials: Iterable[Trial]) -> list[Trial]:
    """Those trials that no other beats in score without losing nodes on the device; most nodes first."""
    done = sorted(
        (trial for trial in trials if trial.score is not None),
        key=lambda trial: (-trial.on_device, -(trial.score or 0.0), trial.size),
    )
    front: list[Trial] = []
    for trial in done:
        if trial.score is not None and all(trial.score > (other.score or 0.0) for other in front):
            front.append(trial)
    return front
