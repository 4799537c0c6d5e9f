"""Plugins are found, blocked, and held to the hooks that exist."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from types import SimpleNamespace

import pluggy
import pytest

from ort_vitis_plugin.api import hookimpl
from ort_vitis_plugin.errors import PluginError, UnknownNameError
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.plugin.manager import BUNDLED, new_manager


def test_bundled_plugins_come_first_and_in_order(plugins: pluggy.PluginManager) -> None:
    assert tuple(name for name, _ in plugins.list_name_plugin()) == BUNDLED
    assert BUNDLED[0] == "ort_vitis_upstream"


def test_managers_are_independent(plugins: pluggy.PluginManager) -> None:
    plugins.register(SimpleNamespace(), "mine")
    assert not new_manager(entry_points=False).has_plugin("mine")


def test_blocked_by_argument_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORT_VITIS_BLOCK", "ort_vitis_formats, ort_vitis_ipu")
    manager = new_manager(entry_points=False, blocked=("ort_vitis_pow2",))
    left = [name for name in BUNDLED if manager.has_plugin(name)]
    assert left == [
        "ort_vitis_upstream",
        "ort_vitis_block",
        "ort_vitis_prepare",
        "ort_vitis_presets",
        "ort_vitis_finetune",
        "ort_vitis_torch",
    ]
    with pytest.raises(UnknownNameError, match="ipu_cnn is not a known target"):
        Catalog(manager).target("ipu_cnn")


class Misspelt:
    """A hook that does not exist."""

    @hookimpl
    def vitis_declares(self) -> list[object]:
        return []


def test_a_misspelt_hook_of_this_program_is_an_error() -> None:
    manager = new_manager(entry_points=False)
    manager.register(Misspelt(), "misspelt")
    with pytest.raises(PluginError, match="vitis_declares"):
        manager.check_hooks()
