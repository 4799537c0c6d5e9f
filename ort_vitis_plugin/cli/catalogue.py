"""``ort-vitis options | plugins | explain``: what can be asked for, and which plugin supplies it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pluggy


def add(verbs: Any) -> None:
    """Declare the verbs."""
    options: argparse.ArgumentParser = verbs.add_parser("options", help="list every option key", description="Options.")
    options.set_defaults(run=run_options)
    options.add_argument("word", nargs="?", default="", help="only keys and descriptions that contain this word")
    plugins: argparse.ArgumentParser = verbs.add_parser("plugins", help="list plugins and what they declare")
    plugins.set_defaults(run=run_plugins)
    explain: argparse.ArgumentParser = verbs.add_parser(
        "explain",
        help="which plugin supplies a name, and whom it shadows",
        description="A name is a target, format, method, step, rule, op type or option key.",
    )
    explain.set_defaults(run=run_explain)
    explain.add_argument("name", metavar="NAME")


def distribution(manager: pluggy.PluginManager, plugin: str) -> str:
    """Name and version of the distribution that a plugin came with."""
    from ort_vitis_plugin import __version__
    from ort_vitis_plugin.plugin.manager import BUNDLED

    module = manager.get_plugin(plugin)
    for known, found in manager.list_plugin_distinfo():
        if known is module:
            return f"{found.project_name} {found.version}"
    bundled = plugin in (*BUNDLED, "ort_vitis_plugin")
    return f"ort-vitis-plugin {__version__}" if bundled else "registered by this program"


def run_options(arguments: argparse.Namespace) -> int:
    """Key, type, default, needs, documentation."""
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.report.tables import table, wide_console

    word = arguments.word.lower()
    rows = [
        (option.key, option.type_name, repr(option.default), option.needs or "", option.doc)
        for option in sorted(shared_catalog().options.values(), key=lambda option: option.key.lower())
        if word in option.key.lower() or word in option.doc.lower()
    ]
    drawn = table(
        "Options (extra_options, --option Key=Value)", ("key", "type", "default", "needs", "what it does"), rows
    )
    for column in drawn.columns[:2]:
        column.no_wrap = True
    drawn.columns[-1].min_width = 40
    wide_console().print(drawn)
    return 0


def run_plugins(arguments: argparse.Namespace) -> int:
    """Each plugin with its distribution and the number of its declarations, first called first."""
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.report.tables import table, wide_console

    catalog = shared_catalog()
    kinds: dict[str, Counter[str]] = {}
    for entry in catalog.entries:
        kinds.setdefault(entry.plugin, Counter())[entry.kind] += 1
    rows = [
        (plugin, distribution(catalog.manager, plugin), ", ".join(f"{n} {kind}" for kind, n in counted.items()))
        for plugin, counted in kinds.items()
    ]
    wide_console().print(table("Plugins", ("plugin", "distribution", "declares"), rows))
    return 0


def run_explain(arguments: argparse.Namespace) -> int:
    """The winner of a name first, then those it shadows."""
    from ort_vitis_plugin.plugin.catalog import full_name, shared_catalog
    from ort_vitis_plugin.plugin.declarations import declared_options
    from ort_vitis_plugin.report.tables import table, wide_console

    catalog = shared_catalog()
    seen: set[tuple[str, object]] = set()
    rows, docs = [], []
    for entry in catalog.explain(arguments.name):
        shadowed = (entry.kind, entry.key) in seen
        seen.add((entry.kind, entry.key))
        rows.append(
            (
                "shadowed" if shadowed else "wins",
                entry.kind,
                full_name(entry.key),
                entry.plugin,
                distribution(catalog.manager, entry.plugin),
            )
        )
        for option in declared_options(entry.declaration):
            if not shadowed and arguments.name in (option.key, *option.aliases, full_name(entry.key)):
                needs = f"; needs {option.needs}" if option.needs else ""
                docs.append(f"{option.key}: {option.type_name} = {option.default!r}{needs}. {option.doc}")
    console = wide_console()
    console.print(table(arguments.name, ("", "kind", "key", "plugin", "distribution"), rows))
    for text in docs:
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    return 0
