"""One call, frozen: what was asked for, by either door; and the run that answers it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, UnknownNameError, UnsupportedError
from ..numerics.qtypes import QType, qtype
from ..options import options as option_parser
from ..options.host_options import CallOptions
from ..options.request import Request
from ..plugin.declarations import ScaleFormat
from ..report.report import Report

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..calibration.statistics import Statistics
    from ..options.options import Option, Options
    from ..plugin.catalog import Catalog
    from ..plugin.declarations import Calibrator, Format, Target


# Arguments that a target's presets may set where the caller left them at the door's default.
PRESET_ARGUMENTS = ("quant_format", "calibrate_method", "activation_type", "weight_type", "per_channel")


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


def refusal(run: Run | None, node: NodeProto, *, any_type: bool = False) -> str | None:
    """Why the request leaves the node as it is; ``any_type`` asks about the node, not about its op type."""
    reason = run.refusal(node) if run is not None else None
    if reason is not None and any_type and run is not None and node.op_type not in run.op_types:
        excluded = node.name in run.request.nodes_to_exclude
        return "in nodes_to_exclude" if excluded else run.excluded.get(node.name)
    return reason
