"""A request speaks of nodes and tensors by the names that they had; asked later, it means the same ones."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.renames import NODE, replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..graph.renames import Renames
    from ..options.options import Options

    Overrides = Mapping[str, Any]

SELECTIONS = ("nodes_to_quantize", "nodes_to_exclude")
ENDS = ("InputNodes", "OutputNodes")
OVERRIDES = "TensorQuantOverrides"
# A pattern for whatever nodes of an op type write.
OP = "op:"


def followed_options(options: Options, renames: Renames) -> Options:
    """The options, in which InputNodes, OutputNodes and TensorQuantOverrides use the names of now."""
    changed: dict[str, Any] = {key: list(renames.ends_of(options[key])) for key in ENDS if options.get(key)}
    if options.get(OVERRIDES):
        changed[OVERRIDES] = followed_overrides(options[OVERRIDES], renames)
    return options.changed(changed) if changed else options


def followed_overrides(overrides: Overrides, renames: Renames) -> dict[str, Any]:
    """TensorQuantOverrides by the names of now: of tensors, and of the nodes in ``recv_nodes``."""
    found = dict(overrides)
    for kind, (old, now) in renames:
        if kind == NODE:
            if any(old in _receivers(entry) for listed in found.values() for entry in listed):
                found = {name: [_with_receivers(entry, old, now) for entry in listed] for name, listed in found.items()}
        elif old in found:
            entries = found.pop(old)
            found.update(dict.fromkeys(now, entries))
    return found


def override_names(overrides: Overrides) -> Iterator[str]:
    """The tensors of which the overrides speak, and the nodes that they name."""
    for tensor, listed in overrides.items():
        yield tensor
        for entry in listed:
            yield from _receivers(entry)


def _receivers(entry: Mapping[str, Any]) -> Iterable[str]:
    return entry.get("convert", {}).get("recv_nodes") or ()


def _with_receivers(entry: Mapping[str, Any], old: str, now: Iterable[str]) -> dict[str, Any]:
    receivers = _receivers(entry)
    if old not in receivers:
        return dict(entry)
    return {**entry, "convert": {**entry["convert"], "recv_nodes": set(replaced(receivers, old, now))}}
