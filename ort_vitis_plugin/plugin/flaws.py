"""Names that a declaration takes from others (targets, options, steps, op types) and that nobody has: misspellings."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from ..errors import suggest
from ..options.options import Option, resolve
from ..options.request import PRESET_ARGUMENTS
from .declarations import LeaveFloat, OpQuantizer, Preset, Target, Transform, declared_options

if TYPE_CHECKING:
    from .entries import Entry

# Names so close to a known one are misspelt; a new operator may well be called like an old one with a word before it.
CLOSE = 0.85


@dataclass(frozen=True)
class Names:
    """What a declaration may name: targets, steps by key, options by key, op types of plugins."""

    targets: frozenset[str]
    steps: frozenset[str]
    options: Mapping[str, Option]
    op_types: frozenset[str] = frozenset()


def names_of(entries: Iterable[Entry], blocked: Iterable[Entry]) -> Names:
    """The names that plugins declare, and those of blocked ones: to name these is no mistake."""
    targets, steps, op_types = set(), set(), set()
    options: dict[str, Option] = {}
    for entry in (*entries, *blocked):
        declaration = entry.declaration
        options.update((option.key, option) for option in declared_options(declaration))
        if isinstance(declaration, Target):
            targets.add(declaration.name)
        elif isinstance(declaration, (Transform, LeaveFloat)):
            steps.add(declaration.key)
        elif isinstance(declaration, OpQuantizer) and not entry.is_foreign:
            op_types.add(declaration.op_type)
    return Names(frozenset(targets), frozenset(steps), options, frozenset(op_types))


def flaws_of(declaration: Any, names: Names, *, strict: bool = False) -> Iterator[str]:
    """Sentences about what the declaration names and nobody has.

    The target of a step may be that of a plugin which is not installed here: without ``strict`` it is no flaw unless it
    looks like a known one.
    """
    for field in ("target", "base"):
        target = getattr(declaration, field, None)
        if isinstance(target, str) and target not in names.targets:
            hint = suggest(target, names.targets)
            if strict or hint or field == "base":
                yield f"{field}={target!r} is no known target{hint}"
    for field in ("before", "after"):
        for key in getattr(declaration, field, ()):
            if key not in names.steps and (close := _misspelt(key, names.steps)):
                yield f"{field} names {key!r}, which is no step{close}"
    for op_type in _op_types(declaration):
        if close := _misspelt(op_type, known_op_types() | names.op_types):
            yield f"{op_type!r} is no op type{close}"
    yield from _settings(declaration, names)
    for option in declared_options(declaration):
        if option.needs is not None and resolve(option.needs, names.options) is None:
            hint = suggest(option.needs, names.options)
            yield f"option {option.key} needs {option.needs!r}, which is no option{hint}"


def _settings(declaration: Any, names: Names) -> Iterator[str]:
    """What defaults and presets set must be an argument of a call or an option, of its type."""
    if isinstance(declaration, Target):
        arguments, options = {}, dict(declaration.defaults)
        for key in PRESET_ARGUMENTS:
            options.pop(key, None)
    elif isinstance(declaration, Preset):
        arguments, options = dict(declaration.arguments), dict(declaration.recipe)
    else:
        return
    for key in arguments.keys() - set(PRESET_ARGUMENTS):
        yield f"it sets {key!r}, which is no argument that a preset may set ({', '.join(PRESET_ARGUMENTS)})"
    for key, value in options.items():
        found = resolve(key, names.options)
        if found is None:
            yield f"it sets {key!r}, which is no option{suggest(key, (*names.options, *PRESET_ARGUMENTS))}"
        elif found == "Target" and value not in names.targets:
            yield f"it sets Target={value!r}, which is no known target{suggest(str(value), names.targets)}"


def _op_types(declaration: Any) -> Iterable[str]:
    if isinstance(declaration, OpQuantizer):
        yield declaration.op_type
    for field in ("ops", "producers", "consumers", "op_types"):
        yield from sorted(getattr(declaration, field, None) or ())


def _misspelt(name: str, known: Iterable[str]) -> str:
    """'; did you mean A?' where the name is almost a known one, but not one of them."""
    names = list(known)
    if name in names:
        return ""
    same = [other for other in names if other.lower() == name.lower()]
    close = same or get_close_matches(name, names, n=1, cutoff=CLOSE)
    return f"; did you mean {close[0]}?" if close else ""


@cache
def known_op_types() -> frozenset[str]:
    """Op types of ONNX's schemas and of the installed onnxruntime's kernels."""
    known = {schema.name for schema in onnx.defs.get_all_schemas()}
    if hasattr(ort_state, "get_all_opkernel_def"):
        known |= {kernel.op_name for kernel in ort_state.get_all_opkernel_def()}
    if hasattr(ort_state, "get_all_operator_schema"):
        known |= {schema.name for schema in ort_state.get_all_operator_schema()}
    return frozenset(known)
