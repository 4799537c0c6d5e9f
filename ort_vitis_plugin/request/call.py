"""One call being answered: what was settled, what has happened, and what the request means by its names now."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..onnx_io.sessions import AS_WRITTEN, FAITHFUL, FASTEST, open_session, register_all
from ..options.host_options import CallOptions
from .ledger import Ledger
from .no_effect import warn_without_effect
from .renames import ENDS, OVERRIDES, followed_options, override_names
from .settings import Settings, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import onnxruntime as ort
    from onnx import ModelProto, NodeProto

    from ..calibration.statistics import Statistics
    from ..data_readers import Samples
    from ..numerics.qtypes import QType
    from ..options.options import Options
    from ..options.request import Request
    from ..plugin.catalog import Catalog
    from ..plugin.declarations import Format, ScaleFormat, Target
    from ..plugin.methods import Method
    from ..plugin.rounding import WeightRounding
    from ..report.report import Report


class Call:
    """Settings and ledger of one answer. It is the Context that steps see.

    ``overrides`` are TensorQuantOverrides by the names of now, where others than the request's hold (in a body).
    """

    def __init__(self, settings: Settings, ledger: Ledger, overrides: Mapping[str, Any] | None = None) -> None:
        self.settings, self.ledger, self._overrides = settings, ledger, overrides
        self._followed = -1
        self._request, self._options = settings.request, settings.options
        self._selected: frozenset[str] = frozenset()
        self._refused: frozenset[str] = frozenset()

    @classmethod
    def of(cls, request: Request, catalog: Catalog) -> Call:
        """A call at its beginning."""
        settings = settings_of(request, catalog)
        warn_without_effect(settings)
        return cls(settings, Ledger.opened(settings))

    # ------------------------------------------------------------------ what was asked for, by the names of now

    @property
    def request(self) -> Request:
        """The request; its lists of nodes name what they named when the call was made."""
        self._follow()
        return self._request

    @property
    def options(self) -> Options:
        """The options; those that name nodes or tensors name what they named when the call was made."""
        self._follow()
        return self._options

    @property
    def overrides(self) -> Mapping[str, Any]:
        """TensorQuantOverrides by the names of now."""
        return self.options.get(OVERRIDES) or {}

    @property
    def call(self) -> CallOptions:
        """The host's own options."""
        return self.options[CallOptions]

    @property
    def catalog(self) -> Catalog:
        return self.settings.catalog

    @property
    def target(self) -> Target:
        return self.settings.target

    @property
    def lineage(self) -> list[str]:
        return self.settings.lineage

    @property
    def format(self) -> Format:
        return self.settings.format

    @property
    def method(self) -> Method:
        return self.settings.method

    @property
    def activation(self) -> QType:
        return self.settings.activation

    @property
    def weight(self) -> QType:
        return self.settings.weight

    @property
    def kinds(self) -> frozenset[QType]:
        """All types that the call names for data and weights."""
        return self.settings.kinds

    @property
    def op_types(self) -> frozenset[str]:
        """The selected op types, and those that stand for selected ones."""
        return self.settings.op_types | self.ledger.stand_ins

    def enabled(self, step: Any) -> bool:
        """Whether a step's switch is on (steps without one always are)."""
        return self.settings.enabled(step)

    def scale_formats(self) -> list[ScaleFormat]:
        """Number formats into which scales are put, those that are on."""
        return self.settings.scale_formats()

    def weight_roundings(self) -> list[WeightRounding]:
        """Ways to round the weights of a layer, for fine-tuning."""
        return self.settings.weight_roundings()

    def computes(self, kind: QType) -> bool:
        """Whether the target's device computes in a type."""
        return self.settings.computes(kind)

    def with_overrides(self, overrides: Mapping[str, Any]) -> Call:
        """The same call with other TensorQuantOverrides, by the names of now."""
        return Call(self.settings, self.ledger, overrides)

    # ------------------------------------------------------------------ what has happened

    @property
    def report(self) -> Report:
        return self.ledger.report

    @property
    def libraries(self) -> list[str]:
        """Paths of the custom-op libraries that sessions of this call register."""
        return self.ledger.libraries

    @property
    def samples(self) -> Samples:
        """The samples, known once the model is loaded."""
        assert self.ledger.samples is not None
        return self.ledger.samples

    @property
    def statistics(self) -> Statistics | None:
        """What calibration saw; None before it."""
        return self.ledger.statistics

    def refusal(self, node: NodeProto, *, any_type: bool = False) -> str | None:
        """Why the request leaves a node float, or None when it is to be quantized.

        ``any_type`` asks about the node, not about its op type: for steps that replace it by nodes of other types.
        """
        self._follow()
        if node.op_type not in self.settings.op_types and node.op_type not in self.ledger.stand_ins:
            if not any_type:
                return "op type not selected"
            return "in nodes_to_exclude" if node.name in self._refused else self.ledger.excluded.get(node.name)
        if self._selected and node.name not in self._selected:
            return "not in nodes_to_quantize"
        if node.name in self._refused:
            return "in nodes_to_exclude"
        return self.ledger.excluded.get(node.name)

    def is_requested(self, node: NodeProto) -> bool:
        """Whether nodes_to_quantize names the node."""
        self._follow()
        return node.name in self._selected

    def leave_float(self, node: NodeProto, why: str) -> None:
        """Exclude a node, with the reason that the report gives."""
        self.ledger.excluded[node.name] = why

    def note(self, text: str) -> None:
        """Write a line into the report, once."""
        self.ledger.report.note(text)

    def stand_in(self, op_type: str) -> None:
        """Select an op type that took the place of a selected one."""
        self.ledger.stand_ins.add(op_type)

    def open_session(self, model: ModelProto, *, as_written: bool = False, fast: bool = False) -> ort.InferenceSession:
        """A session of basic optimization, or of none, or a ``fast`` one that only keeps pairs, with the custom-op
        libraries of this call."""
        libraries = [register_all(self.ledger.libraries)]
        if fast:
            return open_session(model, libraries, FASTEST, keep_pairs=True)
        return open_session(model, libraries, AS_WRITTEN if as_written else FAITHFUL)

    def kept_names(self) -> set[str]:
        """Tensors that steps must leave where they are, and nodes that stand for a place in the graph."""
        options = self.options
        return {*override_names(self.overrides), *(name for key in ENDS for name in options.get(key) or ())}

    def names_in_use(self) -> Iterator[str]:
        """Nodes that the request selects or leaves float, and tensors of which it says more."""
        yield from self.request.nodes_to_quantize
        yield from self.request.nodes_to_exclude
        yield from self.ledger.excluded
        yield from override_names(self.overrides)

    # ------------------------------------------------------------------ inside

    def _follow(self) -> None:
        renames = self.ledger.renames
        if self._followed == len(renames):
            return
        self._followed = len(renames)
        request = self.settings.request
        self._request = replace(
            request,
            nodes_to_quantize=renames.nodes_of(request.nodes_to_quantize),
            nodes_to_exclude=renames.nodes_of(request.nodes_to_exclude),
        )
        self._selected = frozenset(self._request.nodes_to_quantize)
        self._refused = frozenset(self._request.nodes_to_exclude)
        self._options = followed_options(self.settings.options, renames)
        if self._overrides is not None:
            self._options = self._options.changed({OVERRIDES: dict(self._overrides)})
