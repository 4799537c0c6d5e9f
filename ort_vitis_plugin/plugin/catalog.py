"""What all plugins declare together, as look-ups; knows who supplies what and who is shadowed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

import pluggy

from ..errors import PluginError, UnknownNameError, UnsupportedError, suggest
from ..numerics import qtypes
from ..numerics.qtypes import QType
from ..options.host_options import CallOptions
from ..options.options import Option
from .declarations import (
    Adjuster,
    Calibrator,
    Correction,
    CustomOpLibrary,
    Format,
    Fusion,
    ModelTransform,
    OpQuantizer,
    Preset,
    QuantizedType,
    Stage,
    Target,
    Transform,
    declared_options,
    is_declaration,
)
from .manager import BUNDLED, shared_manager

D = TypeVar("D")


@dataclass(frozen=True)
class Entry:
    """One declaration and the plugin that made it."""

    declaration: Any
    plugin: str

    @property
    def key(self) -> object:
        declaration = self.declaration
        return declaration.__name__ if isinstance(declaration, type) else declaration.key

    @property
    def kind(self) -> str:
        return "OptionGroup" if isinstance(self.declaration, type) else type(self.declaration).__name__


class Catalog:
    """The declarations of one plugin manager, winners first."""

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self.manager = manager
        self.entries = list(_declared(manager))
        self._winners: dict[tuple[str, object], Entry] = {}
        for entry in self.entries:
            first = self._winners.setdefault((entry.kind, entry.key), entry)
            if first is not entry and first.plugin not in BUNDLED and entry.plugin not in BUNDLED:
                raise PluginError(
                    f"plugins {first.plugin} and {entry.plugin} both declare the {entry.kind} {name_of(entry.key)}; "
                    f"block one of them with ORT_VITIS_BLOCK"
                )
        self.options: dict[str, Option] = {}
        for entry in self._winners.values():
            for declared in declared_options(entry.declaration):
                self.options.setdefault(declared.key, declared)

    @property
    def upstream_keys(self) -> frozenset[str]:
        """Option keys that onnxruntime reads itself: giving one does not make a call ours."""
        return frozenset(
            declared.key
            for entry in self.entries
            if entry.plugin == BUNDLED[0]
            for declared in declared_options(entry.declaration)
        )

    def all(self, kind: type[D]) -> list[D]:
        """Winning declarations of a kind, bundled plugins first, in the order in which they were declared."""
        order = {name: number for number, name in enumerate(BUNDLED)}
        found = [entry for entry in self._winners.values() if isinstance(entry.declaration, kind)]
        found.sort(key=lambda entry: order.get(entry.plugin, len(order)))
        return [entry.declaration for entry in found]

    def target(self, name: str) -> Target:
        return self._named(Target, "target", name)

    def preset(self, name: str) -> Preset:
        """The preset of that name; a target without one is its own preset."""
        known = {preset.name for preset in self.all(Preset)}
        target = next((target for target in self.all(Target) if target.name == name), None)
        if name not in known and target is not None:
            return Preset(name, target.doc, recipe={"Target": name})
        return self._named(Preset, "preset", name)

    def format(self, key: object) -> Format:
        return self._named(Format, "format", key)

    def calibrator(self, key: object) -> Calibrator:
        return self._named(Calibrator, "calibration method", key)

    def qtype(self, kind: object) -> QType:
        """The QType of whatever names a type; names that a plugin declares come first."""
        entry = self._winners.get((QuantizedType.__name__, qtypes.type_name(kind)))
        if entry is not None and not isinstance(kind, QType):
            return entry.declaration.kind  # type: ignore[no-any-return]
        return qtypes.qtype(kind, [declared.kind.name for declared in self.all(QuantizedType)])

    def lineage(self, target: Target) -> list[str]:
        """The target and those that it is based on, nearest first."""
        names = [target.name]
        while target.base is not None and target.base not in names:
            target = self.target(target.base)
            names.append(target.name)
        return names

    def op_quantizer(self, op_type: str, lineage: Iterable[str]) -> type[Any] | None:
        """The class that marks this op type's tensors for a target: its own, else its base's, else anyone's."""
        for target in (*lineage, None):
            entry = self._winners.get((OpQuantizer.__name__, (op_type, target)))
            if entry is not None:
                return entry.declaration.quantizer  # type: ignore[no-any-return]
        return None

    def transforms(self, stage: Stage, lineage: list[str]) -> list[Transform]:
        """Transforms of a stage that hold for the target, ordered: as declared, then by before= and after=."""
        found = [t for t in self.all(Transform) if t.stage is stage and (t.target is None or t.target in lineage)]
        return _ordered(found)

    def adjusters(self, lineage: list[str]) -> list[Adjuster]:
        return [rule for rule in self.all(Adjuster) if rule.target is None or rule.target in lineage]

    def corrections(self, lineage: list[str]) -> list[Correction]:
        """Corrections that hold for the target, in the order in which they are declared."""
        return [each for each in self.all(Correction) if each.target is None or each.target in lineage]

    def fusions(self, lineage: list[str]) -> list[Fusion]:
        return [pair for pair in self.all(Fusion) if pair.target is None or pair.target in lineage]

    def model_transforms(self) -> list[ModelTransform]:
        """Rewrites of the whole model that come before anything else."""
        return self.all(ModelTransform)

    def libraries(self) -> list[str]:
        """Paths of the custom-op libraries that plugins bring, of those that are built."""
        return [path for library in self.all(CustomOpLibrary) if (path := library.path()) is not None]

    def explain(self, name: str) -> list[Entry]:
        """Entries of that name, the winner first; option keys lead to what declares them."""
        found = [entry for entry in self.entries if name in (name_of(entry.key), str(entry.key))]
        found += [
            entry
            for entry in self.entries
            if entry not in found
            and any(name in (known.key, *known.aliases) for known in declared_options(entry.declaration))
        ]
        if not found:
            names = {name_of(entry.key) for entry in self.entries} | self.options.keys()
            raise UnknownNameError(f"no plugin declares {name}{suggest(name, names)}")
        return found

    def _named(self, kind: type[D], label: str, key: object) -> D:
        entry = self._winners.get((kind.__name__, key))
        if entry is None and isinstance(key, str):
            same_kind = [found for found in self._winners.values() if found.kind == kind.__name__]
            called = [found for found in same_kind if key in (full_name(found.key), name_of(found.key))]
            # A short name that several have, such as QDQ, means onnxruntime's.
            called.sort(key=lambda found: (full_name(found.key) != key, found.plugin != BUNDLED[0]))
            entry = called[0] if called else None
        if entry is None:
            known = [full_name(found.key) for found in self._winners.values() if found.kind == kind.__name__]
            raise UnknownNameError(
                f"{full_name(key)} is not a known {label} ({', '.join(sorted(known))}){suggest(name_of(key), known)}"
            )
        return entry.declaration  # type: ignore[no-any-return]


def name_of(key: object) -> str:
    """The short name of a key: an enum member's own name, else its text."""
    if isinstance(key, tuple):
        return "/".join(str(part) for part in key if part)
    return str(getattr(key, "name", key))


def full_name(key: object) -> str:
    """An enum member with its class, QuantFormat.QDQ and VitisQuantFormat.QDQ being two formats."""
    return f"{type(key).__name__}.{name_of(key)}" if hasattr(key, "name") else name_of(key)


def _declared(manager: pluggy.PluginManager) -> Iterator[Entry]:
    yield Entry(CallOptions, "ort_vitis_plugin")
    for implementation in reversed(manager.hook.vitis_declare.get_hookimpls()):
        for declaration in cast(Iterable[Any], implementation.function()):
            if not is_declaration(declaration):
                raise PluginError(
                    f"plugin {implementation.plugin_name} yields {declaration!r}, which is no declaration"
                )
            yield Entry(declaration, implementation.plugin_name)


def _ordered(steps: list[Transform]) -> list[Transform]:
    """Stable topological order: declaration order except where ``before`` or ``after`` asks otherwise."""
    names = {step.key for step in steps}
    waits = {step.key: {key for key in step.after if key in names} for step in steps}
    for step in steps:
        for key in step.before:
            if key in names:
                waits[key].add(step.key)
    done: list[Transform] = []
    pending = list(steps)
    while pending:
        ready = next((step for step in pending if not waits[step.key] - {d.key for d in done}), None)
        if ready is None:
            raise PluginError(f"transforms wait for each other: {', '.join(step.key for step in pending)}")
        pending.remove(ready)
        done.append(ready)
    return done


@cache
def shared_catalog() -> Catalog:
    """The catalog of calls that bring no plugin manager of their own."""
    return Catalog(shared_manager())


def qtype(kind: object) -> QType:
    """The QType of a VitisQuantType, a QuantType, a name (a plugin's too), a QType or an ONNX element type.

    Raises UnsupportedError for what is none, and names those that are known.
    """
    try:
        return qtypes.qtype(kind)  # plugins ask for these while they are loaded
    except UnsupportedError:
        return shared_catalog().qtype(kind)
