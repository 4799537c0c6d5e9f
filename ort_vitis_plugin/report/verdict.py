"""What a result is worth: part by part and stage by stage, and what to change where it is worth too little."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .json_data import finite_or_none, json_data

PREPARED, SIMULATED, QUANTIZED = STAGES = ("prepared", "simulated", "quantized")


@dataclass(frozen=True)
class Judgement:
    """One output, or one part of it, which ``tensor`` becomes. ``sqnr`` maps stages to decibels against float, for
    stages at which the function may have changed; ``agreement`` is the share of rows with the same largest entry, None
    where it ranks nothing; ``objection`` says why it is bad; ``steps`` changed the function at the stage that adds most
    noise, where there is enough of it to be heard."""

    name: str
    tensor: str
    sqnr: Mapping[str, float]
    agreement: float | None = None
    objection: str | None = None
    steps: tuple[str, ...] = ()

    @property
    def decibels(self) -> float:
        """Of the quantized model."""
        return self.sqnr[QUANTIZED]

    def worst_stage(self) -> str:
        """The stage that adds most noise."""
        known = [stage for stage in STAGES if stage in self.sqnr]
        noise = [10 ** (-min(max(self.sqnr[stage], -300.0), 300.0) / 10) for stage in known]
        added = [now - before for before, now in zip([0.0, *noise], noise, strict=False)]
        return known[added.index(max(added))]


@dataclass(frozen=True)
class Advice:
    """What costs most and what to do about it. ``place`` is a step, tensor or group; ``change`` holds arguments of
    quantize_static; ``before`` and ``after`` are decibels of the worst part without and with it."""

    stage: str
    place: str
    change: Mapping[str, object]
    before: float
    after: float

    @property
    def gain(self) -> float:
        """In decibels."""
        return self.after - self.before

    def __str__(self) -> str:
        switches = ", ".join(f"{key}={value!r}" for key, value in self.change.items())
        told = f"{self.before:.1f} dB to {self.after:.1f} dB"
        return f"{self.place} ({self.stage}) costs most; {switches} takes the worst part from {told}"


@dataclass
class Verdict:
    """``judgements`` begin with the worst part; ``advice`` with what helps most."""

    judgements: list[Judgement] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)
    samples: int = 0

    @property
    def worst(self) -> Judgement | None:
        """The part of fewest decibels, None where no output holds floats."""
        return self.judgements[0] if self.judgements else None

    @property
    def is_good(self) -> bool:
        """Whether there is nothing to object."""
        return all(each.objection is None for each in self.judgements)

    def as_dict(self) -> dict[str, Any]:
        """Plain data; infinite decibels become None."""
        return {
            "samples": self.samples,
            "good": self.is_good,
            "judgements": [
                {
                    **asdict(each),
                    "sqnr": {stage: finite_or_none(value) for stage, value in each.sqnr.items()},
                    "steps": list(each.steps),
                }
                for each in self.judgements
            ],
            "advice": [
                {
                    "stage": each.stage,
                    "place": each.place,
                    "change": json_data(each.change),
                    "before": finite_or_none(each.before),
                    "after": finite_or_none(each.after),
                }
                for each in self.advice
            ],
        }
