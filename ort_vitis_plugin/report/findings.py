"""What a call found: quantized and left float and why, moves of the rules, accuracy, sizes; plain data."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from .json_data import json_data
from .verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..graph import Skip
    from ..plan import Move
    from .tensor_story import TensorStory


@dataclass
class Findings:
    """Filled stage by stage. ``sqnr`` maps outputs to decibels against float, ``fused`` to those of a default session,
    ``integer_kernel_loss`` to those that its integer kernels lose on this CPU; ``left_float`` maps nodes to reasons,
    ``objections`` outputs and parts of them to why the result is bad. With ``random_data`` all that was measured on
    random samples; ``tensors`` names to where their parameters came from."""

    configuration: dict[str, str] = field(default_factory=dict)
    transforms: dict[str, int] = field(default_factory=dict)
    skips: list[Skip] = field(default_factory=list)
    patterns: dict[str, list[str]] = field(default_factory=dict)
    quantized: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    tensors: dict[str, TensorStory] = field(default_factory=dict)
    left_float: dict[str, str] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    not_data: dict[str, str] = field(default_factory=dict)
    non_finite: dict[str, str] = field(default_factory=dict)
    placement: dict[str, str] = field(default_factory=dict)
    open_shapes: dict[str, list[int | str | None]] = field(default_factory=dict)
    sqnr: dict[str, float] = field(default_factory=dict)
    fused: dict[str, float] = field(default_factory=dict)
    integer_kernel_loss: dict[str, float] = field(default_factory=dict)
    objections: dict[str, str] = field(default_factory=dict)
    verdict: Verdict = field(default_factory=Verdict)
    random_data: bool = False
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    float_bytes: int = 0
    quantized_bytes: int = 0

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def continue_from(self, first: Findings, *, without: Collection[str] = ()) -> None:
        """Take over what a first answer found and this one had no need to repeat, ``without`` some of its notes."""
        self.non_finite.update(first.non_finite)
        for text in first.notes:
            if text not in without:
                self.note(text)
        for stage, seconds in first.seconds.items():
            self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        self.float_bytes, self.random_data = first.float_bytes, first.random_data

    def as_dict(self) -> dict[str, Any]:
        """Data as JSON has them: decibels, errors and scales that are not finite are None."""
        data = asdict(self)
        data["verdict"] = self.verdict.as_dict()
        data["tensors"] = {name: story.as_dict() for name, story in self.tensors.items()}
        found: dict[str, Any] = json_data(data)
        return found

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)
