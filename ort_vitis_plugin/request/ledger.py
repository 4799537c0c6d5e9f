"""What happens while a call is answered, written down in one place; nothing of it changes the settings."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..graph.renames import Renames
from ..report.report import Report

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from ..calibration.statistics import Statistics
    from ..data_readers import Samples
    from ..plan import TensorPlan
    from .settings import Settings


@dataclass
class Ledger:
    """One answer's notes. ``excluded`` maps nodes to why they stay float, ``float_tensors`` tensors; ``float_readers``
    read what is float before it is rounded for others; ``stand_ins`` holds op types that a step put in the place of
    selected ones, ``renames`` what nodes and tensors are called now, ``fused`` the nodes that the optimizer made, each
    with those in whose place it stands, ``libraries`` paths of custom-op libraries, ``changing`` by stage the steps
    that changed the float function, and ``on_the_way`` the float models that came of them; ``random`` says that the
    samples are, ``float_hash`` which model the caller's is, ``metadata`` holds the keys of its metadata, ``satisfied``
    says that the recipe has nothing left to gain. ``planned`` keeps the parameters of tensors for all plans of the
    answer; ``judge`` are the samples held out, ``judged`` what they say of the plan. ``measured`` are the notes on what
    the answer itself computes."""

    report: Report = field(default_factory=Report)
    renames: Renames = field(default_factory=Renames)
    excluded: dict[str, str] = field(default_factory=dict)
    float_tensors: dict[str, str] = field(default_factory=dict)
    float_readers: set[str] = field(default_factory=set)
    stand_ins: set[str] = field(default_factory=set)
    fused: dict[str, tuple[NodeProto, ...]] = field(default_factory=dict)
    samples: Samples | None = None
    statistics: Statistics | None = None
    libraries: list[str] = field(default_factory=list)
    changing: dict[str, list[str]] = field(default_factory=dict)
    on_the_way: dict[str, ModelProto] = field(default_factory=dict)
    random: bool = False
    float_hash: str = ""
    metadata: frozenset[str] = frozenset()
    satisfied: bool = False
    planned: dict[tuple[object, ...], TensorPlan] = field(default_factory=dict)
    judge: object = None
    judged: object = None
    measured: list[str] = field(default_factory=list)

    @classmethod
    def opened(cls, settings: Settings) -> Ledger:
        """An empty one, whose report names the configuration."""
        return cls(report=Report(configuration=settings.described()))

    def next_answer(self, settings: Settings) -> Ledger:
        """The ledger of a second answer to the same call: it reads the same samples with the same libraries."""
        again = Ledger.opened(settings)
        again.samples, again.libraries, again.random = self.samples, self.libraries, self.random
        again.float_hash, again.metadata, again.satisfied = self.float_hash, self.metadata, self.satisfied
        return again
