"""What a plugin can declare: frozen data that a catalog can list, check and document without running it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..options.options import Option, OptionGroup
from .methods import CalibraterMethod, PositionMethod, RangeMethod
from .rounding import WeightRounding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

    from ..data_readers import Feed
    from ..emission.pair_writer import PairWriter
    from ..graph import Graph
    from ..numerics.qtypes import QType
    from ..plan import Bound, Plan
    from .context import Configuration, Context


class Stage(Enum):
    """Where in the pipeline a transform runs."""

    NORMALIZE = "normalize"
    PREPARE = "prepare"
    AFTER_CALIBRATION = "after_calibration"
    SIMULATE = "simulate"


@dataclass(frozen=True)
class Target:
    """A device. ``defaults`` are values for arguments and options that the caller left alone.

    ``base`` names a target whose operators, rules and transforms hold here too; ``op_types`` the op types
    quantized by default (None: onnxruntime's); ``computes`` says in which types the device computes: where it does
    not, its rules and fusions are off and nodes lie off it (None: as the base, without one in all);
    ``bias_as_weight`` stores biases in the weight type with a scale of their own instead of int32;
    ``own_parameters`` names scales and zero points after the tensor of their pair, also where another's hold: compilers
    look them up by it; ``check`` raises UnsupportedError for what the device cannot do; ``placement`` says why a node
    cannot run on the device (None: it can); with ``keeps_opset`` 16-bit pairs are com.microsoft's below opset 21, where
    else the model is raised to it. ``aliases`` are other names of it. Case does not count.
    """

    name: str
    doc: str
    defaults: Mapping[str, object] = field(default_factory=dict)
    base: str | None = None
    op_types: frozenset[str] | None = None
    computes: Callable[[QType], bool] | None = None
    bias_as_weight: bool = False
    own_parameters: bool = False
    check: Callable[[Configuration], None] | None = None
    placement: Callable[[Graph, NodeProto], str | None] | None = None
    keeps_opset: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True)
class Preset:
    """A configuration with a name. ``arguments`` are quantize_static's (format, method, types, per_channel,
    reduce_range), ``recipe`` options by key, Target among them; what the caller gives wins over both. ``aliases`` are
    other names of it; case does not count."""

    name: str
    doc: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    recipe: Mapping[str, object] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.name


@dataclass(frozen=True)
class Format:
    """How quantized tensors are written: ``writer`` is a PairWriter; ``accepts`` tells types apart.

    ``marker`` is a Marker subclass, where other tensors are quantized than onnxruntime's handlers mark. ``check``
    raises UnsupportedError for what cannot be written, before any work.
    """

    key: object
    doc: str
    writer: type[PairWriter]
    accepts: Callable[[QType], bool]
    marker: type[Any] | None = None
    check: Callable[[Configuration], None] | None = None


@dataclass(frozen=True)
class QuantizedType:
    """A type of codes that requests may name: as text, or as the VitisQuantType of that name."""

    kind: QType
    doc: str

    @property
    def key(self) -> str:
        return self.kind.name


@dataclass(frozen=True)
class OpQuantizer:
    """The QDQOperatorBase subclass that marks the tensors of an op type; for one target, or any (None)."""

    op_type: str
    quantizer: type[Any]
    target: str | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        return self.op_type, self.target


@dataclass(frozen=True)
class Transform:
    """A rewrite of the float graph: ``apply(graph)`` or ``apply(graph, context)`` gives the number of rewrites."""

    key: str
    doc: str
    stage: Stage
    apply: Callable[..., int]
    option: Option | None = None
    target: str | None = None
    changes_function: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @cached_property
    def _takes_context(self) -> bool:
        return len(inspect.signature(self.apply).parameters) > 1

    def __call__(self, graph: Graph, context: Context) -> int:
        graph.step = self.key
        return self.apply(graph, context) if self._takes_context else self.apply(graph)


@dataclass(frozen=True)
class StaysFloat:
    """Nodes and tensors that codes would ruin, each with the reason that the report gives.

    ``readers`` are nodes that stay float and read what is float before it is rounded for others.
    """

    nodes: Mapping[str, str] = field(default_factory=dict)
    tensors: Mapping[str, str] = field(default_factory=dict)
    readers: Collection[str] = ()


@dataclass(frozen=True)
class LeaveFloat:
    """A rule on what codes would ruin: ``select(graph, context)`` gives the nodes and tensors that stay float.

    ``stage`` is one at which transforms run too; from AFTER_CALIBRATION on ``context.statistics`` says what the tensors
    hold. The bodies of If, Loop and Scan are asked as graphs of their own, after calibration. What the caller names in
    nodes_to_quantize is quantized all the same.
    """

    key: str
    doc: str
    stage: Stage
    select: Callable[[Graph, Context], StaysFloat]
    option: Option | None = None
    target: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelTransform:
    """A rewrite of the whole model (functions, opset) before it is seen as a graph.

    ``apply(model)`` or ``apply(model, context)`` gives the model, itself or a new one.
    """

    key: str
    doc: str
    apply: Callable[..., ModelProto]

    @cached_property
    def _takes_context(self) -> bool:
        return len(inspect.signature(self.apply).parameters) > 1

    def __call__(self, model: ModelProto, context: Context) -> ModelProto:
        return self.apply(model, context) if self._takes_context else self.apply(model)


@dataclass(frozen=True)
class Adjuster:
    """A hardware rule: ``rule(plan, node)`` yields bounds on the positions around a node of one of the ``ops``."""

    key: str
    doc: str
    ops: frozenset[str]
    rule: Callable[[Plan, NodeProto], Iterator[Bound]]
    option: Option
    target: str | None = None

    def __call__(self, plan: Plan, node: NodeProto) -> Iterator[Bound]:
        for bound in self.rule(plan, node):
            yield replace(bound, rule=self.key, node=node.name)


@dataclass(frozen=True)
class Correction:
    """A change of constants and positions between planning and the hardware's rules, which undoes errors of rounding.

    ``apply(plan, float_graph, samples, context)`` changes constants of ``plan.graph`` and what the plan says of their
    tensors, and gives the number of changes. ``float_graph`` is the prepared float model, not to be changed;
    ``samples`` can be iterated again and again, each time all samples that the caller's reader still gives. Nodes stay
    as they are. A result that is not finite, or of another shape or type, is taken back. One that is ``in_recipe`` also
    runs where Recipe="auto" and the caller gives real samples, unless its option is given. ``check`` raises, before any
    work, for what it cannot do.
    """

    key: str
    doc: str
    option: Option
    apply: Callable[[Plan, Graph, Iterable[Feed], Context], int]
    target: str | None = None
    in_recipe: bool = False
    check: Callable[[Configuration], None] | None = None

    def __call__(self, plan: Plan, float_graph: Graph, samples: Iterable[Feed], context: Context) -> int:
        return self.apply(plan, float_graph, samples, context)


@dataclass(frozen=True)
class Namespace:
    """Names of an older package. ``modules`` are dotted names; ``provider(module)`` gives what it holds, by name.

    ``ort_vitis_plugin.compat.install(package)`` makes them importable in one process.
    """

    modules: tuple[str, ...]
    doc: str
    provider: Callable[[str], Mapping[str, object]]

    @property
    def key(self) -> tuple[str, ...]:
        return self.modules


@dataclass(frozen=True)
class Fusion:
    """A tensor between two nodes that the device computes as one: it gets no quantize/dequantize pair."""

    key: str
    doc: str
    producers: frozenset[str]
    consumers: frozenset[str]
    applies: Callable[[Graph, NodeProto, NodeProto], bool]
    option: Option | None = None
    target: str | None = None


@dataclass(frozen=True)
class ScaleFormat:
    """A number format of scales: ``apply(scale)`` gives the nearest float32 scales that it can hold, of the same shape.

    ``check`` raises UnsupportedError for configurations with which the format makes no sense.
    """

    key: str
    doc: str
    apply: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    option: Option
    check: Callable[[Configuration], None] | None = None

    def __call__(self, scale: NDArray[np.float32]) -> NDArray[np.float32]:
        return self.apply(scale)


@dataclass(frozen=True)
class CustomOpLibrary:
    """A shared library that sessions of ours register; ``path()`` is asked at first use, None where not built."""

    key: str
    doc: str
    path: Callable[[], str | None]


@dataclass(frozen=True)
class OpFunctions:
    """Operators of a plugin's own, by (domain, op type), and what defines them.

    ``add(model)`` gives the model, in place, a model-local function for each of them that it uses, so that it runs
    where no library has a kernel; models that are written get them, and models of others that come without.
    """

    key: str
    doc: str
    ops: frozenset[tuple[str, str]]
    add: Callable[[ModelProto], None]


Declaration = (
    type[OptionGroup]
    | Target
    | Preset
    | Format
    | QuantizedType
    | RangeMethod
    | PositionMethod
    | CalibraterMethod
    | OpQuantizer
    | Transform
    | LeaveFloat
    | ModelTransform
    | Adjuster
    | Correction
    | Namespace
    | Fusion
    | ScaleFormat
    | CustomOpLibrary
    | OpFunctions
    | WeightRounding
)


def is_declaration(value: object) -> bool:
    """Whether a hook may yield the value."""
    if isinstance(value, type):
        return issubclass(value, OptionGroup)
    kinds = tuple(kind for kind in typing.get_args(Declaration) if isinstance(kind, type))
    return isinstance(value, kinds)


def declared_options(declaration: Any) -> Iterator[Option]:
    """The options that a declaration brings with it."""
    if isinstance(declaration, type) and issubclass(declaration, OptionGroup):
        yield from declaration.options()
    elif getattr(declaration, "option", None) is not None:
        yield declaration.option
