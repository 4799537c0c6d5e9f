"""Plugins that are not there: what needs one says which it is, and how it comes back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import MissingPluginError, PluginError
from .declarations import Transform, declared_options
from .entries import Entry, full_name, name_of
from .manager import BLOCK, BUNDLED, bundled_plugin, installed_plugins

if TYPE_CHECKING:
    import pluggy


def blocked_entries(manager: pluggy.PluginManager) -> list[Entry]:
    """What blocked plugins of this distribution would declare."""
    return [
        Entry(declaration, name, declaration)
        for name in BUNDLED
        if manager.is_blocked(name)
        for declaration in bundled_plugin(name).vitis_declare()  # type: ignore[attr-defined]
    ]


def refuse_blocked(manager: pluggy.PluginManager, family: str, key: object, text: str) -> None:
    """Raise where a blocked plugin of this distribution declares a key; ``text`` says what is unknown without it.

    Raises:
        MissingPluginError: so it is.
    """
    for entry in blocked_entries(manager):
        if entry.family == family and key in (entry.key, full_name(entry.key), name_of(entry.key)):
            raise _missing(text, entry.plugin)


def refuse_blocked_installed(manager: pluggy.PluginManager, text: str) -> None:
    """Raise where a plugin of others is installed and blocked: it may declare what nobody knows.

    Raises:
        MissingPluginError: so it is.
    """
    names = [entry.name for entry in installed_plugins() if manager.is_blocked(entry.name)]
    if names:
        raise MissingPluginError(f"{text}; {BLOCK} leaves out {', '.join(names)}, which may declare it")


def refuse_blocked_option(manager: pluggy.PluginManager, key: str) -> None:
    """Raise where a blocked plugin of this distribution declares an option, or has what acts on it.

    Raises:
        MissingPluginError: so it is.
    """
    for entry in blocked_entries(manager):
        acts = isinstance(entry.declaration, Transform) and entry.key == key
        options = declared_options(entry.declaration)
        if acts or any(key in (option.key, *option.aliases, option.needs) for option in options):
            raise _missing(f"the option {key} has no effect", entry.plugin)


def refuse_broken(manager: pluggy.PluginManager, text: str) -> None:
    """Raise where an installed plugin could not be loaded: it may declare what nobody knows.

    Raises:
        PluginError: so it is, with the plugin's error as its cause.
    """
    broken = getattr(manager, "broken", ())
    if broken:
        raise PluginError(
            f"{text}, but {'; '.join(map(str, broken))}: it could not be loaded and may declare it. Repair it, or "
            f"leave it out with {BLOCK}={','.join(each.name for each in broken)}"
        ) from broken[0].error


def _missing(text: str, plugin: str) -> MissingPluginError:
    return MissingPluginError(f"{text}: that is the plugin {plugin}'s, which {BLOCK} leaves out")
