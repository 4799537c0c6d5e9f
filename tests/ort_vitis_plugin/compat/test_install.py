"""Names of old packages are there when asked for, in this process, and gone when taken away."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ort_vitis_plugin
from ort_vitis_plugin.api import Namespace, hookimpl
from ort_vitis_plugin.compat import install, uninstall
from ort_vitis_plugin.errors import OptionError, UnknownNameError
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.plugin.manager import new_manager

ROOT = Path(__file__).resolve().parents[3]


class Plugin:
    """Two modules of a package that is no more."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def names(self, module: str) -> dict[str, object]:
        self.asked.append(module)
        return {"answer": 42, "where": module}

    @hookimpl
    def vitis_declare(self) -> list[Namespace]:
        return [Namespace(("old_tool.quantize", "old_tool.deep.er"), "An old tool.", self.names)]


@pytest.fixture
def plugin() -> Iterator[Plugin]:
    yield Plugin()
    uninstall()


def catalog(plugin: Plugin) -> Catalog:
    manager = new_manager(entry_points=False)
    manager.register(plugin, "old")
    return Catalog(manager)


def test_modules_come_from_their_provider_when_they_are_imported(plugin: Plugin) -> None:
    assert install("old_tool", catalog=catalog(plugin)) == ["old_tool.deep.er", "old_tool.quantize"]
    assert plugin.asked == []
    module: Any = importlib.import_module("old_tool.quantize")
    assert (module.answer, module.where) == (42, "old_tool.quantize")
    assert importlib.import_module("old_tool.deep.er").where == "old_tool.deep.er"
    assert plugin.asked == ["old_tool.quantize", "old_tool.deep.er"]
    assert not [
        name for name in vars(importlib.import_module("old_tool.deep")) if not name.startswith("__") and name != "er"
    ]


def test_again_is_nothing_more(plugin: Plugin) -> None:
    before = len(sys.meta_path)
    for _ in range(2):
        install("old_tool", catalog=catalog(plugin))
    assert len(sys.meta_path) == before + 1


def test_taken_away(plugin: Plugin) -> None:
    install("old_tool", catalog=catalog(plugin))
    importlib.import_module("old_tool.quantize")
    uninstall("another")
    assert "old_tool.quantize" in sys.modules
    uninstall("old_tool")
    assert not [name for name in sys.modules if name.startswith("old_tool")]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("old_tool")


def test_a_package_that_nobody_serves(plugin: Plugin) -> None:
    with pytest.raises(
        UnknownNameError, match=r"no plugin serves the names of old_tol .*old_tool, .*vai_q_onnx.*did you mean"
    ):
        install("old_tol", catalog=catalog(plugin))


def test_not_over_a_package_that_is_there_already(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "old_tool", ModuleType("old_tool"))
    with pytest.raises(OptionError, match="old_tool is imported already"):
        install("old_tool", catalog=catalog(plugin))


def test_vai_q_onnx_is_this_package(plugin: Plugin) -> None:
    install("vai_q_onnx")
    module: Any = importlib.import_module("vai_q_onnx")
    assert module.quantize_static is ort_vitis_plugin.quantize_static
    assert module.PowerOfTwoMethod is ort_vitis_plugin.PowerOfTwoMethod
    assert module.__name__ == "vai_q_onnx"


def test_another_process_sees_none_of_it(plugin: Plugin) -> None:
    install("vai_q_onnx")
    code = "import ort_vitis_plugin, importlib.util as u; print(u.find_spec('vai_q_onnx'))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout.strip() == "None"
