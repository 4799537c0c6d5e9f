"""``ort-vitis options | plugins | explain``: what can be asked for, and which plugin supplies it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

import rich_click as click

from .output import Output
from .verb import verb

if TYPE_CHECKING:
    from ort_vitis_plugin.options.options import Option

ONE_OF_THIS_PROGRAM = "registered by this program"
INDENT = "    "


@verb("options", examples=("ort-vitis options CLE",))
@click.argument("word", required=False, default="")
def options_verb(out: Output, word: str) -> None:
    """List option keys, those whose key or text holds WORD; without it, all.

    Raises:
        UnknownNameError: no option holds the word.
    """
    from ort_vitis_plugin.errors import UnknownNameError, suggest
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    declared = shared_catalog().options
    found = [
        option
        for option in sorted(declared.values(), key=lambda option: option.key.lower())
        if any(word.lower() in text.lower() for text in (option.key, option.doc, *option.aliases))
    ]
    if not found:
        raise UnknownNameError(
            f"no option holds {word!r}{suggest(word, declared) or '; `ort-vitis options` lists all'}"
        )
    for option in found:
        _show(out, option)
    out.data([_described(option) for option in found])


def _show(out: Output, option: Option) -> None:
    """The key with type and default on one line, what it does below: nothing is cropped, however narrow."""
    width = min(shutil.get_terminal_size().columns, 120)
    out.print(f"{option.key}: {option.type_name} = {option.default!r}")
    more = f" Needs {option.needs}." if option.needs else ""
    also = f" Also: {', '.join(option.aliases)}." if option.aliases else ""
    lines = textwrap.wrap(
        f"{option.doc}{more}{also}", width - len(INDENT), break_long_words=False, break_on_hyphens=False
    )
    for line in lines:
        out.print(INDENT + line)


def _described(option: Option) -> dict[str, Any]:
    return {
        "key": option.key,
        "type": option.type_name,
        "default": option.default,
        "needs": option.needs,
        "aliases": option.aliases,
        "doc": option.doc,
    }


@verb("plugins")
def plugins_verb(out: Output) -> None:
    """List plugins and what they declare, first called first; broken ones last."""
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.plugin.manager import distribution_of

    catalog = shared_catalog()
    kinds: dict[str, Counter[str]] = {}
    for entry in catalog.entries:
        kinds.setdefault(entry.plugin, Counter())[entry.kind] += 1
    rows = [
        (
            plugin,
            distribution_of(catalog.manager, plugin) or ONE_OF_THIS_PROGRAM,
            ", ".join(f"{n} {kind}" for kind, n in counted.items()),
        )
        for plugin, counted in kinds.items()
    ]
    rows += [
        (each.name, each.distribution, f"broken: {each.reason}") for each in getattr(catalog.manager, "broken", ())
    ]
    out.table("Plugins", ("plugin", "distribution", "declares"), rows)
    out.data([{"plugin": name, "distribution": origin, "declares": what} for name, origin, what in rows])


@verb("explain", examples=("ort-vitis explain MinMSE", "ort-vitis explain A16W8"))
@click.argument("name", metavar="NAME")
def explain_verb(out: Output, name: str) -> None:
    """What a name means, which plugin supplies it, and whom it shadows.

    A name is that of a target, preset, format, method, step, rule, op type or option.
    """
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.plugin.declarations import declared_options
    from ort_vitis_plugin.plugin.entries import full_name
    from ort_vitis_plugin.plugin.manager import distribution_of

    catalog = shared_catalog()
    seen: set[tuple[str, object]] = set()
    rows, texts = [], []
    for entry in catalog.explain(name):
        shadowed = (entry.kind, entry.key) in seen
        seen.add((entry.kind, entry.key))
        origin = distribution_of(catalog.manager, entry.plugin) or ONE_OF_THIS_PROGRAM
        rows.append(("shadowed" if shadowed else "wins", entry.kind, full_name(entry.key), entry.plugin, origin))
        if shadowed:
            continue
        found = [option for option in declared_options(entry.declaration) if name in (option.key, *option.aliases)]
        for option in found:
            needs = f"; needs {option.needs}" if option.needs else ""
            texts.append(f"{option.key}: {option.type_name} = {option.default!r}{needs}. {option.doc}")
        if not found and (doc := getattr(entry.declaration, "doc", "")):
            texts.append(f"{full_name(entry.key)}: {doc}")
            texts += _settings(entry.declaration)
    out.table(name, ("", "kind", "key", "plugin", "distribution"), rows)
    for text in texts:
        out.print(text)
    keys = ("state", "kind", "key", "plugin", "distribution")
    out.data({"entries": [dict(zip(keys, row, strict=True)) for row in rows], "texts": texts})


def _settings(declaration: Any) -> list[str]:
    """What a preset or a target sets, one value a line."""
    from ort_vitis_plugin.plugin.entries import full_name

    values = {
        key: value
        for field in ("recipe", "arguments", "defaults")
        for key, value in (getattr(declaration, field, None) or {}).items()
    }
    return [f"  {key} = {full_name(value) if hasattr(value, 'name') else value}" for key, value in values.items()]
