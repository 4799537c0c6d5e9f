"""What all plugins declare together, as look-ups; knows who supplies what and who is shadowed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

import pluggy

from ..errors import PluginError, PluginWarning, UnknownNameError, UnsupportedError, suggest
from ..numerics import qtypes
from ..numerics.qtypes import QType
from ..options.options import Option, resolve
from ..options.ort_options import OrtOptions
from . import left_out
from .declarations import (
    Adjuster,
    Correction,
    CustomOpLibrary,
    Format,
    Fusion,
    LeaveFloat,
    ModelTransform,
    OpQuantizer,
    Preset,
    QuantizedType,
    Stage,
    Target,
    Transform,
    declared_options,
)
from .entries import HOST, Entry, entries_of, full_name, guard_hooks, name_of, origin_of
from .faults import faults_of
from .flaws import flaws_of, names_of
from .manager import BUNDLED, new_manager, shared_manager
from .methods import Method

D = TypeVar("D")
Named = TypeVar("Named", bound=Target | Preset)
OfTarget = TypeVar("OfTarget", bound=Transform | LeaveFloat | Adjuster | Fusion | Correction)


class Catalog:
    """The declarations of one plugin manager, winners first."""

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self.manager = manager
        self.entries = entries_of(manager)
        guard_hooks(manager)
        self._judged: set[str] = set()
        self._listed: dict[tuple[type[Any], ...], list[Any]] = {}
        self._winners: dict[tuple[str, object], Entry] = {}
        for entry in self.entries:
            first = self._winners.setdefault((entry.family, entry.key), entry)
            if first is not entry and first.plugin not in BUNDLED and entry.plugin not in BUNDLED:
                raise PluginError(
                    f"plugins {first.plugin} and {entry.plugin} both declare the {entry.kind} {name_of(entry.key)}; "
                    f"block one of them with ORT_VITIS_BLOCK"
                )
        self.options: dict[str, Option] = {}
        for entry in self._winners.values():
            for declared in declared_options(entry.declaration):
                self.options.setdefault(declared.key, declared)
        self._owners: dict[str, list[tuple[Option, object]]] = {}
        for entry in self.entries:
            for declared in declared_options(entry.declaration):
                self._owners.setdefault(declared.key, []).append((declared, entry.declaration))
        # Keys that onnxruntime reads itself: giving one does not make a call ours.
        self.upstream_keys = frozenset(declared.key for declared in OrtOptions.options())

    def owners(self, option: Option) -> list[object]:
        """The declarations that bring the option."""
        return [declaration for declared, declaration in self._owners.get(option.key, ()) if declared == option]

    def all(self, kind: type[D]) -> list[D]:
        """Winning declarations of a kind, bundled plugins first, in the order in which they were declared."""
        return self._all((kind,))

    def _all(self, kinds: tuple[type[Any], ...]) -> list[Any]:
        # Winners never change, and targets are looked up for every tensor.
        if kinds not in self._listed:
            self._listed[kinds] = self._sorted(kinds)
        return list(self._listed[kinds])

    def _sorted(self, kinds: tuple[type[Any], ...]) -> list[Any]:
        order = {name: number for number, name in enumerate(BUNDLED)}
        found = [entry for entry in self._winners.values() if isinstance(entry.declaration, kinds)]
        found.sort(key=lambda entry: order.get(entry.plugin, len(order)))
        return [entry.used for entry in found]

    def target(self, name: str) -> Target:
        """The target of that name or alias, whatever its case."""
        return _called(name, self.all(Target)) or self._named(Target, "target", name)

    def preset(self, name: str) -> Preset:
        """The preset of that name or alias, whatever its case; a target without one is its own preset."""
        known = _called(name, self.all(Preset))
        if known is None and (target := _called(name, self.all(Target))) is not None:
            return Preset(target.name, target.doc, recipe={"Target": target.name})
        return known or self._named(Preset, "preset", name)

    def format(self, key: object) -> Format:
        return self._named(Format, "format", key)

    def method(self, key: object) -> Method:
        return self._named(Method, "calibration method", key)

    def qtype(self, kind: object) -> QType:
        """The QType of whatever names a type; names that a plugin declares come first."""
        entry = self._winners.get((QuantizedType.__name__, qtypes.type_name(kind)))
        if entry is not None and not isinstance(kind, QType):
            return entry.declaration.kind  # type: ignore[no-any-return]
        name = qtypes.type_name(kind)
        if name and name not in qtypes.BUILT_IN:
            left_out.refuse_blocked(self.manager, QuantizedType.__name__, name, f"no plugin here declares {name}")
        return qtypes.host_qtype(kind, [declared.kind.name for declared in self.all(QuantizedType)])

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
                return entry.used.quantizer  # type: ignore[no-any-return]
        return None

    def steps(self, stage: Stage, lineage: list[str]) -> list[Transform | LeaveFloat]:
        """Transforms of a stage, and rules on what stays float, that hold for the target.

        Ordered: as declared, then by before= and after=.
        """
        declared: list[Transform | LeaveFloat] = self._all((Transform, LeaveFloat))
        return _ordered([step for step in _of_lineage(declared, lineage) if step.stage is stage])

    def leave_float(self, lineage: list[str]) -> list[LeaveFloat]:
        """Rules on what stays float, of all stages."""
        return _of_lineage(self.all(LeaveFloat), lineage)

    def adjusters(self, lineage: list[str]) -> list[Adjuster]:
        return _of_lineage(self.all(Adjuster), lineage)

    def corrections(self, lineage: list[str]) -> list[Correction]:
        """Corrections that hold for the target, in the order in which they are declared."""
        return _of_lineage(self.all(Correction), lineage)

    def fusions(self, lineage: list[str]) -> list[Fusion]:
        return _of_lineage(self.all(Fusion), lineage)

    def model_transforms(self) -> list[ModelTransform]:
        """Rewrites of the whole model that come before anything else."""
        return self.all(ModelTransform)

    def libraries(self) -> list[str]:
        """Paths of the custom-op libraries that plugins bring, of those that are built."""
        return [path for library in self.all(CustomOpLibrary) if (path := library.path()) is not None]

    def explain(self, name: str) -> list[Entry]:
        """Entries of that name, the winner first; option keys lead to what declares them.

        Raises:
            UnknownNameError: nobody declares the name.
        """
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
        try:
            entry = self._winners.get((kind.__name__, key))
        except TypeError:  # not hashable
            entry = None
        if entry is not None:
            return entry.used  # type: ignore[no-any-return]
        same_kind = [found for found in self._winners.values() if found.family == kind.__name__]
        if isinstance(key, str):
            called = [found for found in same_kind if key in (full_name(found.key), name_of(found.key))]
            # A short name that several have, such as QDQ, means onnxruntime's.
            called.sort(key=lambda found: (full_name(found.key) != key, found.plugin != BUNDLED[0]))
            if called:
                return called[0].used  # type: ignore[no-any-return]
        known = [full_name(found.key) for found in same_kind]
        text = f"{full_name(key)} is not a known {label} ({', '.join(sorted(known))})"
        left_out.refuse_blocked(self.manager, kind.__name__, key, text)
        hint = suggest(name_of(key), known)
        if not hint:
            left_out.refuse_blocked_installed(self.manager, text)
            left_out.refuse_broken(self.manager, text)
        raise UnknownNameError(text + hint)

    # ------------------------------------------------------------------ plugins that are left out, or in error

    def check_given(self, given: Mapping[str, object]) -> None:
        """Refuse options whose plugin is left out: without it they would do nothing.

        Raises:
            MissingPluginError: a bundled plugin declares the option, or acts on it, and is blocked.
            PluginError: nobody knows the option, and an installed plugin could not be loaded.
        """
        for key, value in given.items():
            if not isinstance(key, str):
                continue
            known = resolve(key, self.options) is not None
            if not known or (value is not None and value is not False):
                left_out.refuse_blocked_option(self.manager, key)
            if not known and not suggest(key, self.options):
                left_out.refuse_broken(self.manager, f"{key} is not an option of any plugin that is here")

    def check_used(self, lineage: Collection[str], used: Collection[object], given: Collection[str]) -> None:
        """Look for misspellings in what foreign plugins declare: an error in those that the call uses, else a warning.

        A call uses a plugin by its target, format, method or options, and by steps that hold for the target.
        """
        for plugin in dict.fromkeys(entry.plugin for entry in self.entries if entry.is_foreign):
            found = self.flaws(plugin)
            if not found:
                continue
            error = origin_of(self.manager, plugin).fault("what it declares", f"is wrong: {'; '.join(found)}")
            if any(_is_used(entry, lineage, used, given) for entry in self.entries if entry.plugin == plugin):
                raise error
            if plugin not in self._judged:
                self._judged.add(plugin)
                warnings.warn(str(error), PluginWarning, stacklevel=2)

    def flaws(self, plugin: str, *, strict: bool = False) -> list[str]:
        """Names in what a plugin declares that nobody has, one sentence each; ``strict``: no benefit of doubt."""
        names = names_of(self.entries, left_out.blocked_entries(self.manager))
        return [
            f"{entry.kind} {name_of(entry.key)}: {flaw}"
            for entry in self.entries
            if entry.plugin == plugin
            for flaw in flaws_of(entry.declaration, names, strict=strict)
        ]

    def faults_in(self, declaration: object, what: str) -> AbstractContextManager[None]:
        """A block in which errors are those of the plugin whose declaration a look-up gave."""
        plugin = next((entry.plugin for entry in self.entries if entry.used is declaration), HOST)
        return faults_of(origin_of(self.manager, plugin), what)


def _called(name: str, declared: Sequence[Named]) -> Named | None:
    """The declaration of that very name, else the one that has it as an alias or in another case."""
    for known in declared:
        if known.name == name:
            return known
    for known in declared:
        if name.lower() in {other.lower() for other in (known.name, *known.aliases)}:
            return known
    return None


def _of_lineage(declared: Iterable[OfTarget], lineage: Collection[str]) -> list[OfTarget]:
    """Those that hold for every target, or for one of these."""
    return [each for each in declared if each.target is None or each.target in lineage]


def _is_used(entry: Entry, lineage: Collection[str], used: Collection[object], given: Collection[str]) -> bool:
    declaration = entry.declaration
    if isinstance(declaration, Target):
        return declaration.name in lineage
    if any(entry.used is each for each in used):
        return True
    if isinstance(declaration, (Transform, LeaveFloat, Adjuster, Fusion, Correction)):
        return bool(_of_lineage([declaration], lineage))
    return any(key in given for option in declared_options(declaration) for key in (option.key, *option.aliases))


def _ordered(steps: list[Transform | LeaveFloat]) -> list[Transform | LeaveFloat]:
    """Stable topological order: declaration order except where ``before`` or ``after`` asks otherwise."""
    names = {step.key for step in steps}
    waits = {step.key: {key for key in step.after if key in names} for step in steps}
    for step in steps:
        for key in step.before:
            if key in names:
                waits[key].add(step.key)
    done: list[Transform | LeaveFloat] = []
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


@cache
def bundled_catalog() -> Catalog:
    """What this package brings, without the plugins that happen to be installed here."""
    return Catalog(new_manager(entry_points=False))


def qtype(kind: object) -> QType:
    """The QType of a VitisQuantType, a QuantType, a name (a plugin's too), a QType or an ONNX element type.

    Raises UnsupportedError for what is none, and names those that are known.
    """
    try:
        return qtypes.host_qtype(kind)  # plugins ask for these while they are loaded
    except UnsupportedError:
        return shared_catalog().qtype(kind)
