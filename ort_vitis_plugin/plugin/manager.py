"""Plugins: the bundled ones by name, foreign ones by entry point, blocked ones left out."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib
import os
from functools import cache

import pluggy

from ..errors import PluginError
from . import hookspecs

# First wins is pluggy's "last registered, first called": ort_vitis_upstream, the default of everything, comes first.
BUNDLED = (
    "ort_vitis_upstream",
    "ort_vitis_formats",
    "ort_vitis_pow2",
    "ort_vitis_prepare",
    "ort_vitis_ipu",
    "ort_vitis_correct",
)


def new_manager(*, entry_points: bool = True, blocked: tuple[str, ...] = ()) -> pluggy.PluginManager:
    """A manager with the bundled plugins and, unless told otherwise, every installed one.

    ``ORT_VITIS_BLOCK=name,name`` names plugins to leave out.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    for name in (*blocked, *filter(None, os.environ.get("ORT_VITIS_BLOCK", "").split(","))):
        manager.set_blocked(name.strip())
    for name in BUNDLED:
        if not manager.is_blocked(name):
            manager.register(_bundled(name), name)
    if entry_points:
        manager.load_setuptools_entrypoints(hookspecs.PROJECT)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginError(f"plugin {error.plugin!r} implements a hook that does not exist: {error}") from error
    return manager


def _bundled(name: str) -> object:
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
def shared_manager() -> pluggy.PluginManager:
    """The manager of calls that bring none of their own."""
    return new_manager()
