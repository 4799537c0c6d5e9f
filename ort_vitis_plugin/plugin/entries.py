"""What the plugins of a manager declare, each with its plugin; foreign functions are guarded on the way in."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import PluginError
from ..options.host_options import CallOptions
from ..options.ort_options import OrtOptions
from .declarations import is_declaration
from .faults import Origin, faults_of, guarded, guarded_function
from .manager import BUNDLED, Manager, distribution_of
from .methods import Method

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pluggy

HOST = "ort_vitis_plugin"


@dataclass(frozen=True)
class Entry:
    """One declaration, the plugin that made it, and what look-ups give: the same with its functions guarded."""

    declaration: Any
    plugin: str
    used: Any = None

    @property
    def key(self) -> object:
        declaration = self.declaration
        return declaration.__name__ if isinstance(declaration, type) else declaration.key

    @property
    def is_foreign(self) -> bool:
        """Whether the plugin is another distribution's."""
        return self.plugin not in (HOST, *BUNDLED)

    @property
    def family(self) -> str:
        """Names are unique within it: all kinds of methods are one."""
        return Method.__name__ if isinstance(self.declaration, Method) else self.kind

    @property
    def kind(self) -> str:
        return "OptionGroup" if isinstance(self.declaration, type) else type(self.declaration).__name__


def name_of(key: object) -> str:
    """The short name of a key: an enum member's own name, else its text."""
    if isinstance(key, tuple):
        return "/".join(str(part) for part in key if part)
    return str(getattr(key, "name", key))


def full_name(key: object) -> str:
    """An enum member with its class, QuantFormat.QDQ and VitisQuantFormat.QDQ being two formats."""
    return f"{type(key).__name__}.{name_of(key)}" if hasattr(key, "name") else name_of(key)


def origin_of(manager: pluggy.PluginManager, plugin: str) -> Origin:
    """The plugin with its distribution; of a nameless one, pluggy's number gives way to what it is called."""
    distribution = distribution_of(manager, plugin)
    if distribution is None and plugin.isdigit():
        found = manager.get_plugin(plugin)
        plugin = getattr(found, "__name__", type(found).__name__)
    return Origin(plugin, distribution)


def entries_of(manager: pluggy.PluginManager) -> list[Entry]:
    """The host's options and every declaration, first called first.

    An installed plugin whose vitis_declare fails is left out with a PluginWarning: it breaks nobody else.

    Raises:
        PluginError: that of a plugin fails which this program registered itself.
    """
    found = [Entry(group, HOST, group) for group in (CallOptions, OrtOptions)]
    for implementation in reversed(manager.hook.vitis_declare.get_hookimpls()):
        plugin = implementation.plugin_name
        try:
            found.extend(_declared(manager, plugin, implementation.function))
        except PluginError as error:
            if not isinstance(manager, Manager) or plugin not in manager.distributions:
                raise
            manager.leave_out(plugin, error.__cause__ or error)
    return found


def _declared(manager: pluggy.PluginManager, plugin: str, declare: Callable[[], Any]) -> Iterator[Entry]:
    if plugin in BUNDLED:
        return (Entry(each, plugin, each) for each in declare())
    origin = origin_of(manager, plugin)
    with faults_of(origin, "vitis_declare"):
        declared = list(declare())
    for each in declared:
        if not is_declaration(each):
            raise PluginError(f"plugin {plugin} yields {each!r}, which is no declaration")
    return iter([Entry(each, plugin, guarded(each, origin)) for each in declared])


def guard_hooks(manager: pluggy.PluginManager) -> None:
    """Errors of foreign hooks name their plugin, too."""
    for hook in (manager.hook.vitis_configure, manager.hook.vitis_stage_done):
        for found in hook.get_hookimpls():
            if found.plugin_name in BUNDLED or hasattr(found.function, "origin") or found.hookwrapper or found.wrapper:
                continue
            origin = origin_of(manager, found.plugin_name)
            function = guarded_function(found.function, origin, hook.name, ("hook", hook.name))
            found.function = function  # type: ignore[misc] # pluggy has no other place between a hook and its caller
