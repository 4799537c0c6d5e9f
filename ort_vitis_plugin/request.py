"""One call, frozen: what was asked for, by either door; and the run that answers it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options as option_parser
from .call_options import CallOptions
from .declarations import ScaleFormat
from .errors import OptionError, OptionTypeError, UnknownNameError, UnsupportedError
from .report import Report
from .types import PowerOfTwoMethod, QType, VitisQuantFormat, VitisQuantType, qtype

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from .catalog import Catalog
    from .declarations import Calibrator, Format, Target
    from .options import Option, Options
    from .statistics import Statistics

OUR_ENUMS = (PowerOfTwoMethod, VitisQuantFormat, VitisQuantType)

# Arguments that a target's presets may set where the caller left them at the door's default.
PRESET_ARGUMENTS = ("quant_format", "calibrate_method", "activation_type", "weight_type", "per_channel")


@dataclass(frozen=True)
class Request:
    """The arguments of one call. ``given`` holds options by key; ``default`` names arguments left at their default."""

    model: str | Path | ModelProto
    output: str | Path | None
    reader: Any
    quant_format: Any
    calibrate_method: Any
    activation_type: Any
    weight_type: Any
    per_channel: bool = False
    reduce_range: bool = False
    op_types: tuple[str, ...] = ()
    nodes_to_quantize: tuple[str, ...] = ()
    nodes_to_exclude: tuple[str, ...] = ()
    external_data: bool = False
    calibration: Any = None
    given: Mapping[str, object] = field(default_factory=dict)
    default: frozenset[str] = frozenset()

    def with_options(self, **given: object) -> Request:
        """A copy with more options."""
        return replace(self, given={**self.given, **given})


def names(value: object, argument: str) -> tuple[str, ...]:
    """A list of names as a tuple; a lone string or anything else is refused by the argument's name."""
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise OptionTypeError(f"{argument} takes a list of names, not {value!r}; write [{value!r}]")
    listed = tuple(value)
    for entry in listed:
        if not isinstance(entry, str):
            raise OptionTypeError(f"{argument} takes a list of names, but holds {entry!r} ({type(entry).__name__})")
    return listed


def merged_options(extra_options: object, arguments: Mapping[str, object]) -> dict[str, object]:
    """``extra_options`` with the arguments that have an option key; both with different values are refused."""
    if extra_options is None:
        extra_options = {}
    if not isinstance(extra_options, Mapping):
        raise OptionTypeError(f"extra_options takes a dict, not {extra_options!r}")
    given = dict(extra_options)
    for key, value in arguments.items():
        if key in given and given[key] != value:
            raise OptionError(f"extra_options[{key!r}]={given[key]!r} contradicts the argument's value {value!r}")
        given[key] = value
    return given


def uses_our_enums(value: object) -> bool:
    """Whether one of our enums is the value or lies anywhere in it."""
    if isinstance(value, OUR_ENUMS):
        return True
    if isinstance(value, Mapping):
        return any(uses_our_enums(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(uses_our_enums(item) for item in value)


def is_ours(arguments: Mapping[str, object]) -> bool:
    """Whether a call of onnxruntime's function asks for something of ours (decision 5a).

    It does when it uses one of our enums, or an option key that onnxruntime does not know and a plugin declares.
    """
    kinds = ("quant_format", "calibrate_method", "activation_type", "weight_type")
    if any(isinstance(arguments.get(kind), OUR_ENUMS) for kind in kinds):
        return True
    extra_options = arguments.get("extra_options")
    if not isinstance(extra_options, Mapping) or not extra_options:
        return False
    if uses_our_enums(extra_options.get("TensorQuantOverrides")):
        return True
    from .catalog import shared_catalog

    catalog = shared_catalog()
    return any(
        resolved is not None and resolved not in catalog.upstream_keys
        for resolved in (option_parser.resolve(key, catalog.options) for key in extra_options if isinstance(key, str))
    )


class Run:
    """One request being answered: options parsed, target, format, method and types chosen, the report growing."""

    def __init__(self, request: Request, catalog: Catalog) -> None:
        request = _configured(request, catalog)
        self.catalog = catalog
        self.report = Report()
        target_name = _target_name(request.given)
        self.target: Target = catalog.target(target_name)
        self.lineage: list[str] = catalog.lineage(self.target)
        presets: dict[str, object] = {}
        for name in reversed(self.lineage):
            presets.update(catalog.target(name).presets)
        arguments = {key: presets.pop(key) for key in PRESET_ARGUMENTS if key in presets}
        self.request = replace(request, **{k: v for k, v in arguments.items() if k in request.default})  # type: ignore[arg-type]
        self.options: Options = option_parser.parse(catalog.options, request.given, presets)
        call = self.options[CallOptions]
        self.format: Format = catalog.format(call.format if call.format is not None else self.request.quant_format)
        self.method: Calibrator = catalog.calibrator(
            call.method if call.method is not None else self.request.calibrate_method
        )
        self.activation: QType = _kind("activation_type", self.request.activation_type)
        self.weight: QType = _kind("weight_type", self.request.weight_type)
        self.op_types = frozenset(self.request.op_types) or self._default_op_types()
        self.report.configuration = {
            "target": self.target.name,
            "format": str(self.format.key),
            "method": str(self.method.key),
            "activation_type": str(self.activation),
            "weight_type": str(self.weight),
        }
        self.excluded: dict[str, str] = {}
        self.samples: Any = None
        self.statistics: Statistics | None = None
        self.libraries: list[str] = []

    @property
    def call(self) -> CallOptions:
        return self.options[CallOptions]

    def scale_formats(self) -> list[Any]:
        """Functions that put scales into a hardware's own number format (Int16Scale), those that are on."""
        return [entry.apply for entry in self.catalog.all(ScaleFormat) if self.enabled(entry)]

    def switched_on(self, option: Option) -> bool:
        """Whether the switch on which an option depends is on."""
        return option.needs is None or bool(self.options.get(option.needs, True))

    def enabled(self, step: Any) -> bool:
        """Whether a step's switch is on (steps without one always are)."""
        return step.option is None or bool(self.options[step.option.key])

    def refusal(self, node: NodeProto) -> str | None:
        """Why the request leaves a node float, or None when it is to be quantized."""
        if node.op_type not in self.op_types:
            return "op type not selected"
        if self.request.nodes_to_quantize and node.name not in self.request.nodes_to_quantize:
            return "not in nodes_to_quantize"
        if node.name in self.request.nodes_to_exclude:
            return "in nodes_to_exclude"
        return self.excluded.get(node.name)

    def _default_op_types(self) -> frozenset[str]:
        for name in (*self.lineage, "cpu"):
            op_types = self.catalog.target(name).op_types
            if op_types is not None:
                return op_types
        return frozenset()


def _configured(request: Request, catalog: Catalog) -> Request:
    """The request as plugins leave it, one after the other in call order, each seeing what the one before made."""
    plugins = [implementation.plugin for implementation in catalog.manager.hook.vitis_configure.get_hookimpls()]
    for plugin in reversed(plugins):
        others = [other for other in plugins if other is not plugin]
        for changed in catalog.manager.subset_hook_caller("vitis_configure", others)(request=request):
            request = changed if changed is not None else request
    return request


def _kind(argument: str, value: object) -> QType:
    try:
        return qtype(value)
    except UnsupportedError as error:
        raise UnsupportedError(f"{argument}: {error}") from error


def _target_name(given: Mapping[str, object]) -> str:
    target, enable_dpu = given.get("Target"), given.get("EnableDPU")
    if target is not None and not isinstance(target, str):
        raise UnknownNameError(f"Target takes the name of a target, not {target!r}")
    if enable_dpu and target is not None and target != "ipu_cnn":
        raise OptionError(f"enable_dpu=True means the target ipu_cnn, but Target is {target!r}; give one of them")
    return target or ("ipu_cnn" if enable_dpu else "cpu")
