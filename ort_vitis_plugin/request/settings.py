"""What a call is answered with, settled before any work: target, format, method, types and options. Frozen."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, PluginError, UnknownNameError, UnsupportedError
from ..numerics.qtypes import QType
from ..options import options as option_parser
from ..options.host_options import CallOptions
from ..options.options import is_same
from ..options.ort_options import OrtOptions
from ..options.request import PRESET_ARGUMENTS
from ..plugin.declarations import ScaleFormat
from ..plugin.rounding import WeightRounding
from .mixed_types import TypePair, mixed_types
from .renames import OP, OVERRIDES
from .weight_blocks import WeightBlocks, weight_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..options.options import Option, Options
    from ..options.request import Request
    from ..plugin.catalog import Catalog
    from ..plugin.declarations import Format, Target
    from ..plugin.methods import Method


@dataclass(frozen=True)
class Settings:
    """One configured request with everything that follows from it; what happens to it is in the ledger.

    ``asked`` are the settings as they were asked for, where names have been followed since.
    """

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
    mixed: Mapping[str, TypePair] = field(default_factory=dict)
    weight_blocks: WeightBlocks | None = None

    asked: Settings | None = None

    @property
    def weights_alone(self) -> bool:
        """Whether only weights are to be stored in few bits: no type was asked for data."""
        return self.weight_blocks is not None and "activation_type" in self.request.default and not self.mixed

    @property
    def kinds(self) -> frozenset[QType]:
        """All types that the call names for data and weights: its own, and those of parts of the model."""
        pairs = [TypePair(self.activation, self.weight), *self.mixed.values()]
        return frozenset(kind for pair in pairs for kind in (pair.activation, pair.weight))

    @property
    def needs_data(self) -> bool:
        """Whether any type of activations has parameters that follow from what the model computes."""
        if self.weights_alone:
            return False
        kinds = [self.activation, *(types.activation for types in self.mixed.values()), *self._override_types()]
        return any(kind.has_parameters for kind in kinds)

    def _override_types(self) -> Iterator[QType]:
        """The types that TensorQuantOverrides names; what it has in another form is for others to refuse."""
        overrides = self.options[OrtOptions].tensor_quant_overrides
        for stated in (overrides or {}).values():
            for entry in stated if isinstance(stated, (list, tuple)) else ():
                for part in (entry, entry.get("convert")) if isinstance(entry, Mapping) else ():
                    if isinstance(part, Mapping) and "quant_type" in part:
                        yield self.catalog.qtype(part["quant_type"])

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

    def weight_roundings(self) -> list[WeightRounding]:
        """Ways to round the weights of a layer, for fine-tuning."""
        return self.catalog.all(WeightRounding)

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
            **({"weights": str(self.weight_blocks)} if self.weight_blocks is not None else {}),
            **{f"types of {key}": f"{types.activation}, {types.weight}" for key, types in self.mixed.items()},
        }


def settings_of(request: Request, catalog: Catalog) -> Settings:
    """The settings of a call; plugins configure the request here, once, and may veto it.

    The caller's values win over the preset's, these over the target's defaults, these over the declared ones.

    Raises:
        UnknownNameError: target, preset, format or method is nobody's.
        OptionError: two values contradict each other.
        UnsupportedError: a type does not exist.
    """
    request = _with_preset(_with_types(_configured(request, catalog), catalog), catalog)
    target = _target(request.given, catalog)
    lineage = catalog.lineage(target)
    defaults: dict[str, object] = {}
    for name in reversed(lineage):
        defaults.update(catalog.target(name).defaults)
    arguments = {key: defaults.pop(key) for key in PRESET_ARGUMENTS if key in defaults}
    request = replace(request, **{k: v for k, v in arguments.items() if k in request.default})  # type: ignore[arg-type]
    catalog.check_given(request.given)
    options = option_parser.parse(catalog.options, request.given, defaults, request.by_preset)
    options = _with_types_by_op(options, catalog)
    call = options[CallOptions]
    quant_format = catalog.format(call.format if call.format is not None else request.quant_format)
    base = TypePair(
        _kind(catalog, "activation_type", request.activation_type), _kind(catalog, "weight_type", request.weight_type)
    )
    if not quant_format.writer.has_zero_points and not options.given("ActivationSymmetric"):
        options = options.changed({"ActivationSymmetric": True})
    settings = Settings(
        request=request,
        catalog=catalog,
        target=target,
        lineage=lineage,
        options=options,
        format=quant_format,
        method=catalog.method(call.method if call.method is not None else request.calibrate_method),
        activation=base.activation,
        weight=base.weight,
        op_types=frozenset(request.op_types) or _default_op_types(catalog, lineage),
        mixed=mixed_types(call.mixed_types, base, catalog),
        weight_blocks=weight_blocks(call.weight_only),
    )
    catalog.check_used(lineage, (settings.format, settings.method), request.given)
    return settings


def held_by_target(request: Request, catalog: Catalog) -> tuple[Target | None, dict[str, object]]:
    """The target that a request names, itself or by its preset, and the options that target and preset set.

    Raises:
        UnknownNameError: target or preset is nobody's.
    """
    chosen = _with_preset(request, catalog)
    values = [chosen.given.get(key) for key in ("Target", "EnableDPU")]
    if all(value is None or (isinstance(value, (bool, int)) and not value) for value in values):
        return None, {}
    target = _target(chosen.given, catalog)
    held: dict[str, object] = {}
    for name in reversed(catalog.lineage(target)):
        held.update(catalog.target(name).defaults)
    if isinstance(preset := request.given.get("Preset"), str):
        held.update(catalog.preset(preset).recipe)
    return target, held


def _with_types(request: Request, catalog: Catalog) -> Request:
    """The request with the types that its options name."""
    named = {
        argument: value
        for key, value in request.given.items()
        for argument, option in (("activation_type", "ActivationType"), ("weight_type", "WeightType"))
        if value is not None and option_parser.resolve(key, catalog.options) == option
    }
    return replace(request, **named, default=request.default - named.keys())  # type: ignore[arg-type]


def _with_types_by_op(options: Options, catalog: Catalog) -> Options:
    """ActivationTypes said as TensorQuantOverrides, after what the caller says there."""
    kinds = options[CallOptions].activation_types
    if not kinds:
        return options
    for op_type, kind in kinds.items():
        _kind(catalog, f"ActivationTypes[{op_type!r}]", kind)
    said = {f"{OP}{op_type}": [{"quant_type": kind}] for op_type, kind in kinds.items()}
    return options.changed({OVERRIDES: {**said, **(options.get(OVERRIDES) or {})}})


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
        by_preset=frozenset(recipe),
    )


def _kind(catalog: Catalog, argument: str, value: object) -> QType:
    try:
        return catalog.qtype(value)
    except UnsupportedError as error:
        raise UnsupportedError(f"{argument}: {error}") from error


def _target(given: Mapping[str, object], catalog: Catalog) -> Target:
    name, enable_dpu = given.get("Target"), is_same(given.get("EnableDPU"), True)
    if name is not None and not isinstance(name, str):
        raise UnknownNameError(f"Target takes the name of a target, not {name!r}")
    target = catalog.target(name or ("ipu_cnn" if enable_dpu else "cpu"))
    if enable_dpu and target.name != "ipu_cnn":
        raise OptionError(f"enable_dpu=True means the target ipu_cnn, but Target is {name!r}; give one of them")
    return target
