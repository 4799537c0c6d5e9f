"""What a call is answered with, settled before any work: target, format, method, types and options. Frozen."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, PluginError, UnknownNameError, UnsupportedError
from ..numerics.qtypes import QType
from ..options import options as option_parser
from ..options.host_options import CallOptions
from ..options.ort_options import OrtOptions
from ..options.request import PRESET_ARGUMENTS
from ..plugin.declarations import ScaleFormat

if TYPE_CHECKING:
    from ..options.options import Option, Options
    from ..options.request import Request
    from ..plugin.catalog import Catalog
    from ..plugin.declarations import Format, Target
    from ..plugin.methods import Method


@dataclass(frozen=True)
class Settings:
    """One configured request with everything that follows from it; what happens to it is in the ledger."""

    request: Request
    catalog: Catalog
    target: Target
    lineage: list[str]
    options: Options
    format: Format
    method: Method
    activation: QType
    weight: QType
    op_types: frozenset[str]

    @property
    def call(self) -> CallOptions:
        """The host's own options."""
        return self.options[CallOptions]

    @property
    def quantizes_bodies(self) -> bool:
        """Whether the bodies of If, Loop and Scan are to be quantized."""
        return self.options[OrtOptions].enable_subgraph

    def computes(self, kind: QType) -> bool:
        """Whether the target's device computes in a type: as it says itself, else as the target that it is based on."""
        for name in self.lineage:
            computes = self.catalog.target(name).computes
            if computes is not None:
                return computes(kind)
        return True

    @property
    def rules_hold(self) -> bool:
        """Whether the target's rules on positions apply: its device computes in both types, and there are positions."""
        return self.method.power_of_two and self.computes(self.activation) and self.computes(self.weight)

    def scale_formats(self) -> list[ScaleFormat]:
        """Number formats into which scales are put, those that are on."""
        return [entry for entry in self.catalog.all(ScaleFormat) if self.enabled(entry)]

    def switched_on(self, option: Option) -> bool:
        """Whether the switch on which an option depends is on."""
        return option.needs is None or bool(self.options.get(option.needs, True))

    def enabled(self, step: Any) -> bool:
        """Whether a step's switch is on (steps without one always are)."""
        return step.option is None or self.options[step.option.key] not in (None, False)

    def described(self) -> dict[str, str]:
        """What the report says of the configuration."""
        return {
            "target": self.target.name,
            "format": str(self.format.key),
            "method": str(self.method.key),
            "activation_type": str(self.activation),
            "weight_type": str(self.weight),
        }


def settings_of(request: Request, catalog: Catalog) -> Settings:
    """The settings of a call; plugins configure the request here, once, and may veto it.

    The caller's values win over the preset's, these over the target's defaults, these over the declared ones.

    Raises:
        UnknownNameError: target, preset, format or method is nobody's.
        OptionError: two values contradict each other.
        UnsupportedError: a type does not exist.
    """
    request = _with_preset(_configured(request, catalog), catalog)
    target = catalog.target(_target_name(request.given))
    lineage = catalog.lineage(target)
    defaults: dict[str, object] = {}
    for name in reversed(lineage):
        defaults.update(catalog.target(name).defaults)
    arguments = {key: defaults.pop(key) for key in PRESET_ARGUMENTS if key in defaults}
    request = replace(request, **{k: v for k, v in arguments.items() if k in request.default})  # type: ignore[arg-type]
    catalog.check_given(request.given)
    options = option_parser.parse(catalog.options, request.given, defaults)
    call = options[CallOptions]
    settings = Settings(
        request=request,
        catalog=catalog,
        target=target,
        lineage=lineage,
        options=options,
        format=catalog.format(call.format if call.format is not None else request.quant_format),
        method=catalog.method(call.method if call.method is not None else request.calibrate_method),
        activation=_kind(catalog, "activation_type", request.activation_type),
        weight=_kind(catalog, "weight_type", request.weight_type),
        op_types=frozenset(request.op_types) or _default_op_types(catalog, lineage),
    )
    catalog.check_used(lineage, (settings.format, settings.method), request.given)
    return settings


def _default_op_types(catalog: Catalog, lineage: list[str]) -> frozenset[str]:
    for name in (*lineage, "cpu"):
        op_types = catalog.target(name).op_types
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


def _with_preset(request: Request, catalog: Catalog) -> Request:
    """The request with the values of the preset that it names, where the caller gave none."""
    name = request.given.get("Preset")
    if name is None:
        return request
    if not isinstance(name, str):
        raise UnknownNameError(f"Preset takes the name of a preset, not {name!r}")
    preset = catalog.preset(name)
    for argument in preset.arguments:
        if argument not in PRESET_ARGUMENTS:
            raise PluginError(
                f"preset {name} sets {argument}, which is no argument that a preset may set "
                f"({', '.join(PRESET_ARGUMENTS)}); other things are options, in its recipe"
            )
    arguments = {key: value for key, value in preset.arguments.items() if key in request.default}
    given = {option_parser.resolve(key, catalog.options) or key for key in request.given}
    recipe = {
        key: value
        for key, value in preset.recipe.items()
        if (option_parser.resolve(key, catalog.options) or key) not in given
    }
    return replace(
        request,
        **arguments,  # type: ignore[arg-type]
        given={**recipe, **request.given},
        default=request.default - arguments.keys(),
    )


def _kind(catalog: Catalog, argument: str, value: object) -> QType:
    try:
        return catalog.qtype(value)
    except UnsupportedError as error:
        raise UnsupportedError(f"{argument}: {error}") from error


def _target_name(given: Mapping[str, object]) -> str:
    target, enable_dpu = given.get("Target"), given.get("EnableDPU")
    if target is not None and not isinstance(target, str):
        raise UnknownNameError(f"Target takes the name of a target, not {target!r}")
    if enable_dpu and target is not None and target != "ipu_cnn":
        raise OptionError(f"enable_dpu=True means the target ipu_cnn, but Target is {target!r}; give one of them")
    return target or ("ipu_cnn" if enable_dpu else "cpu")
