"""Plugins: the bundled ones by name, foreign ones by entry point; blocked ones and those that fail are left out."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib
import os
import warnings
from dataclasses import dataclass
from functools import cache
from importlib import metadata

import pluggy

from ..errors import PluginError, PluginWarning
from . import hookspecs

# First wins is pluggy's "last registered, first called": ort_vitis_upstream, the default of everything, comes first.
BUNDLED = (
    "ort_vitis_upstream",
    "ort_vitis_formats",
    "ort_vitis_block",
    "ort_vitis_pow2",
    "ort_vitis_prepare",
    "ort_vitis_ipu",
    "ort_vitis_presets",
    "ort_vitis_finetune",
    "ort_vitis_torch",
)
BLOCK = "ORT_VITIS_BLOCK"


@dataclass(frozen=True)
class BrokenPlugin:
    """An installed plugin that was left out, and why."""

    name: str
    distribution: str
    error: BaseException

    def __str__(self) -> str:
        return f"plugin {self.name} ({self.distribution}): {self.reason}"

    @property
    def reason(self) -> str:
        """The error in one line."""
        return f"{type(self.error).__name__}: {' '.join(str(self.error).split())}"


class Manager(pluggy.PluginManager):
    """pluggy's manager that also knows what was left out, and from which distributions the rest came."""

    def __init__(self) -> None:
        super().__init__(hookspecs.PROJECT)
        self.add_hookspecs(hookspecs)
        self.blocked: set[str] = set()
        self.broken: list[BrokenPlugin] = []
        self.distributions: dict[str, str] = {}

    def block(self, name: str) -> None:
        """Leave a plugin out that is not registered yet."""
        self.blocked.add(name)
        self.set_blocked(name)

    def install(self, entry: metadata.EntryPoint) -> None:
        """Register what an entry point names, or remember why not."""
        if self.has_plugin(entry.name) or self.is_blocked(entry.name):
            return
        known = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "no distribution"
        self.distributions[entry.name] = known
        try:
            self.register(entry.load(), entry.name)
        except (Exception, SystemExit) as error:
            self.leave_out(entry.name, error)

    def leave_out(self, name: str, error: BaseException) -> None:
        """Drop an installed plugin for its error, with one warning."""
        if self.has_plugin(name):
            self.unregister(name=name)
        self.broken.append(BrokenPlugin(name, self.distributions[name], error))
        warnings.warn(
            f"{self.broken[-1]}; it is left out, with all that it declares ({BLOCK}={name} leaves it out silently)",
            PluginWarning,
            stacklevel=2,
        )

    def check_hooks(self) -> None:
        """Leave out installed plugins that implement a hook which does not exist.

        Raises:
            PluginError: a plugin of this program does.
        """
        while True:
            try:
                self.check_pending()
            except pluggy.PluginValidationError as error:
                name = self.get_name(error.plugin) or repr(error.plugin)
                wrong = PluginError(f"plugin {name!r} implements a hook that does not exist: {error}")
                if name not in self.distributions:
                    raise wrong from error
                self.leave_out(name, wrong)
            else:
                return


def new_manager(*, entry_points: bool = True, blocked: tuple[str, ...] = ()) -> Manager:
    """A manager with the bundled plugins and, unless told otherwise, every installed one.

    ``ORT_VITIS_BLOCK=name,name`` names plugins to leave out. An installed plugin that fails on import, or implements
    hooks that do not exist, is left out with one PluginWarning; ``broken`` of the manager lists those.
    """
    manager = Manager()
    for name in (*blocked, *filter(None, os.environ.get(BLOCK, "").split(","))):
        manager.block(name.strip())
    for name in BUNDLED:
        if not manager.is_blocked(name):
            manager.register(bundled_plugin(name), name)
    if entry_points:
        for entry in installed_plugins():
            manager.install(entry)
    manager.check_hooks()
    return manager


def installed_plugins() -> list[metadata.EntryPoint]:
    """Entry points of plugins, in the order in which the distributions are found."""
    return list(metadata.entry_points(group=hookspecs.PROJECT))


def distribution_of(manager: pluggy.PluginManager, plugin: str) -> str | None:
    """Name and version of the distribution that a plugin came with; None for one that this program registered."""
    from .. import __version__

    known: dict[str, str] = getattr(manager, "distributions", {})
    if plugin in known:
        return known[plugin]
    ours = plugin in (*BUNDLED, "ort_vitis_plugin")
    return f"ort-vitis-plugin {__version__}" if ours else None


def bundled_plugin(name: str) -> object:
    """The module of a bundled plugin, installed or beside the host in a source checkout.

    Raises:
        PluginError: it is not there.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    # A source checkout: plugins/ lies beside the host and is not on the path.
    import sys
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    folder = Path(__file__).resolve().parents[2] / "plugins" / name
    spec = spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None or not folder.is_dir():
        raise PluginError(f"the bundled plugin {name} is not installed; reinstall ort-vitis-plugin")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@cache
def shared_manager() -> Manager:
    """The manager of calls that bring none of their own."""
    return new_manager()
