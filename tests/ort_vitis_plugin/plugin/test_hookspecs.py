"""A plugin has three hooks, each of which says what it is for, and takes what it needs of their arguments."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pluggy
import pytest

from ort_vitis_plugin.plugin import hookspecs
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.plugin.hookspecs import hookimpl


def test_hooks_are_three_and_documented() -> None:
    hooks = [value for value in vars(hookspecs).values() if hasattr(value, "ort_vitis_plugin_spec")]
    assert [hook.__name__ for hook in hooks] == ["vitis_declare", "vitis_configure", "vitis_stage_done"]
    assert all(hook.__doc__ for hook in hooks)


def test_a_hook_may_take_fewer_arguments(plugins: pluggy.PluginManager) -> None:
    seen: list[str] = []

    class Watcher:
        @hookimpl
        def vitis_stage_done(self, stage: str) -> None:
            seen.append(stage)

        @hookimpl
        def vitis_declare(self) -> list[object]:
            return []

    plugins.register(Watcher(), "watcher")
    plugins.hook.vitis_stage_done(stage="load", context=None, value=None, run=None)
    assert seen == ["load"]
    assert Catalog(plugins).target("cpu").name == "cpu"


def test_the_old_name_of_the_context_warns_with_the_new_one(plugins: pluggy.PluginManager) -> None:
    class Old:
        @hookimpl
        def vitis_stage_done(self, run: object) -> None:
            pass

    with pytest.warns(DeprecationWarning, match="takes context in the place of run"):
        plugins.register(Old(), "old")
