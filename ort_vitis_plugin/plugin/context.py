"""What plugins see of a call: what was asked for, and what a step may learn and write down."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import onnxruntime as ort
    from onnx import ModelProto, NodeProto

    from ..calibration.statistics import Statistics
    from ..numerics.qtypes import QType
    from ..options.options import Options
    from ..options.request import Request


class Configuration(Protocol):
    """What a call asks for; frozen. ``target``, ``format`` and ``method`` are what it chose."""

    @property
    def request(self) -> Request:
        """The arguments of the call."""

    @property
    def options(self) -> Options:
        """Every option, by group and attribute or by key."""

    @property
    def lineage(self) -> list[str]:
        """Names of the target and of those that it is based on, nearest first."""

    @property
    def target(self) -> Any:
        """The Target."""

    @property
    def format(self) -> Any:
        """The Format."""

    @property
    def method(self) -> Any:
        """The calibration method."""

    @property
    def activation(self) -> QType:
        """The type of activations."""

    @property
    def weight(self) -> QType:
        """The type of weights."""

    @property
    def kinds(self) -> frozenset[QType]:
        """All types that the call names for data and weights: its own, and those of parts of the model."""

    @property
    def op_types(self) -> frozenset[str]:
        """Op types that are quantized."""

    def scale_formats(self) -> list[Any]:
        """ScaleFormats into which scales are put, those that are on."""

    def weight_roundings(self) -> list[Any]:
        """WeightRoundings that plugins declare."""


class Context(Configuration, Protocol):
    """What a step sees of the call that it serves. Names in it are those that nodes and tensors have now."""

    @property
    def statistics(self) -> Statistics | None:
        """What calibration saw of each tensor; None before it."""

    def refusal(self, node: NodeProto, *, any_type: bool = False) -> str | None:
        """Why the request leaves a node float, or None when it is to be quantized.

        ``any_type`` asks about the node, not about its op type: for steps that replace it by nodes of other types.
        """

    def is_requested(self, node: NodeProto) -> bool:
        """Whether the caller names the node in nodes_to_quantize."""

    def leave_float(self, node: NodeProto, why: str) -> None:
        """Leave a node float; the report gives the reason."""

    def stand_in(self, op_type: str) -> None:
        """Select an op type, because the step put it in the place of a selected one."""

    def note(self, text: str) -> None:
        """Write a line into the report, once."""

    def open_session(self, model: ModelProto, *, as_written: bool = False, fast: bool = False) -> ort.InferenceSession:
        """A session on the CPU with the custom-op libraries of the call; without any optimization if ``as_written``,
        with all but those that fuse quantize and dequantize nodes if ``fast``."""
