"""An option that cannot act in a configuration is one warning, with the reason: target, method, format or switch."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ..options import options as option_parser
from ..options.options import OptionWarning
from ..options.ort_options import ORT_KEYS
from ..plugin.declarations import Adjuster
from ..plugin.entries import full_name, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..options.options import Option
    from .settings import Settings


# What an argument switches on, which is no option itself.
OF_RANDOM_DATA = frozenset({"RandomDataReaderInputDataRange", "RandomDataReaderInputShape"})
OF_CHANNELS = frozenset({"QDQOpTypePerChannelSupportToAxis"})


def warn_without_effect(settings: Settings) -> None:
    """One OptionWarning for each option that the caller sets and that cannot act here."""
    for key, reason in without_effect(settings):
        warnings.warn(f"{key} has no effect because {reason}", OptionWarning, stacklevel=6)


def without_effect(settings: Settings) -> Iterator[tuple[str, str]]:
    """(option, why it cannot act), of those that the caller sets to something.

    A key of onnxruntime's at its default is not set: clients write out all of them.
    """
    for given in settings.request.given:
        key = option_parser.resolve(given, settings.catalog.options)
        if key is None or option_parser.is_falsy(settings.options[key]):
            continue
        declared = settings.catalog.options[key]
        if key in ORT_KEYS and option_parser.is_same(settings.options[key], declared.default):
            continue
        reason = _reason(settings, declared)
        if reason is not None:
            yield key, reason


def _reason(settings: Settings, declared: Option) -> str | None:
    targets = _targets(settings, declared)
    if targets and not targets & set(settings.lineage):
        return f"it is for the target {' or '.join(sorted(targets))}, and the target is {settings.target.name}"
    if declared.methods and name_of(settings.method.key) not in declared.methods:
        method = full_name(settings.method.key)
        return f"it is for the method {' or '.join(declared.methods)}, and the method is {method}"
    if declared.formats and full_name(settings.format.key) not in declared.formats:
        written = full_name(settings.format.key)
        return f"it is for the format {' or '.join(declared.formats)}, and the format is {written}"
    if declared.key in settings.format.writer.ignores:
        return f"the format {full_name(settings.format.key)} has no use for it"
    if declared.key in OF_RANDOM_DATA and settings.request.reader is not None:
        return "samples are given"
    if declared.key in OF_CHANNELS and not settings.request.per_channel:
        return "per_channel is not set"
    if _moves_positions(settings, declared) and not settings.rules_hold:
        if not settings.method.power_of_two:
            return f"rules move power-of-two positions, and {full_name(settings.method.key)} gives float scales"
        kinds = f"{settings.activation} by {settings.weight}"
        return f"the device of the target {settings.target.name} does not compute in {kinds}"
    return _switched_off(settings, declared)


def _targets(settings: Settings, declared: Option) -> set[str]:
    """Targets outside of which nothing reads the option; empty where something does everywhere."""
    if declared.targets:
        return set(declared.targets)
    owners = settings.catalog.owners(declared)
    targets = [None if isinstance(owner, type) else getattr(owner, "target", None) for owner in owners]
    return {target for target in targets if target is not None} if None not in targets else set()


def _moves_positions(settings: Settings, declared: Option) -> bool:
    owners = settings.catalog.owners(declared)
    return bool(owners) and all(isinstance(owner, Adjuster) for owner in owners)


def _switched_off(settings: Settings, declared: Option) -> str | None:
    """The switch behind the switch: the nearest one is told when options are read."""
    needs = settings.catalog.options.get(declared.needs or "")
    while needs is not None and settings.options[needs.key]:
        needs = settings.catalog.options.get(needs.needs or "")
        if needs is not None and not settings.options[needs.key]:
            return f"{needs.key} is not set"
    return None
