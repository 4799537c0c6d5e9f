"""A name in a request means what bore it when the call was made: a step that renames it takes the request along."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .settings import Run

SELECTIONS = ("nodes_to_quantize", "nodes_to_exclude")
ENDS = ("InputNodes", "OutputNodes")
OVERRIDES = "TensorQuantOverrides"


def kept_names(run: Run) -> set[str]:
    """Tensors that steps must leave where they are, and nodes that stand for a place in the graph."""
    return {*(run.options[OVERRIDES] or ()), *(name for key in ENDS for name in run.options[key] or ())}


def names_in_use(run: Run) -> Iterator[str]:
    """Nodes that the request selects or leaves float, and tensors of which it says more."""
    for argument in SELECTIONS:
        yield from getattr(run.request, argument)
    yield from run.excluded
    for tensor, listed in (run.options[OVERRIDES] or {}).items():
        yield tensor
        for entry in listed:
            yield from _receivers(entry)


def follow_node(run: Run | None, old: str, *now: str) -> None:
    """What the request says of the node ``old`` it says of the nodes ``now``."""
    if run is None:
        return
    changed: dict[str, Any] = {}
    for argument in SELECTIONS:
        listed = getattr(run.request, argument)
        if old in listed:
            changed[argument] = tuple(_followed(listed, old, now))
    if changed:
        run.request = replace(run.request, **changed)
    _follow_ends(run, old, now)
    overrides: Mapping[str, Any] = run.options[OVERRIDES] or {}
    if any(old in _receivers(entry) for listed in overrides.values() for entry in listed):
        found = {name: [_with_receivers(entry, old, now) for entry in listed] for name, listed in overrides.items()}
        run.options = run.options.changed({OVERRIDES: found})


def follow_tensor(run: Run | None, old: str, *now: str) -> None:
    """What the request says of the tensor ``old`` it says of the tensors ``now``."""
    if run is None:
        return
    _follow_ends(run, old, now)
    overrides = run.options[OVERRIDES] or {}
    if old in overrides:
        found = {name: entry for name, entry in overrides.items() if name != old}
        run.options = run.options.changed({OVERRIDES: {**found, **dict.fromkeys(now, overrides[old])}})


def _follow_ends(run: Run, old: str, now: Iterable[str]) -> None:
    ends = {key: run.options[key] for key in ENDS if old in (run.options[key] or ())}
    if ends:
        run.options = run.options.changed({key: _followed(listed, old, now) for key, listed in ends.items()})


def _followed(listed: Iterable[str], old: str, now: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(new for name in listed for new in (now if name == old else (name,))))


def _receivers(entry: Mapping[str, Any]) -> Iterable[str]:
    return entry.get("convert", {}).get("recv_nodes") or ()


def _with_receivers(entry: Mapping[str, Any], old: str, now: Iterable[str]) -> dict[str, Any]:
    receivers = _receivers(entry)
    if old not in receivers:
        return dict(entry)
    return {**entry, "convert": {**entry["convert"], "recv_nodes": set(_followed(receivers, old, now))}}
