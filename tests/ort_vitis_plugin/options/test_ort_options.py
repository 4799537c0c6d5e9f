"""onnxruntime's own options are a group of the host, read by attribute, and known without asking a plugin."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnxruntime.quantization import calibrate

from ort_vitis_plugin.entry.arguments import is_ours
from ort_vitis_plugin.options.options import parse
from ort_vitis_plugin.options.ort_options import CALIBRATOR_KEYS, ORT_KEYS, OrtOptions
from ort_vitis_plugin.plugin import catalog

ROOT = Path(__file__).parents[3]
SOURCES = [file for folder in ("ort_vitis_plugin", "plugins") for file in sorted((ROOT / folder).rglob("*.py"))]
DECLARED = {option.key: option for option in OrtOptions.options()}


def test_values_by_attribute() -> None:
    options = parse(DECLARED, {"ActivationSymmetric": True, "extra.Sigmoid.nnapi": True})
    group = options[OrtOptions]
    assert (group.activation_symmetric, group.weight_symmetric, group.sigmoid_nnapi) == (True, True, True)
    assert options[OrtOptions] is group
    assert options.changed({"ActivationSymmetric": False})[OrtOptions].activation_symmetric is False


def test_nothing_looks_an_option_up_by_a_literal_key() -> None:
    look_up = re.compile(r"\boptions(?:\[|\.get\()\"[A-Z]\w*\"[\]),](?! =)")
    # marker.py fills the dictionary that onnxruntime's class takes.
    texts = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in SOURCES if file.stem != "marker"}
    assert {name: found for name, text in texts.items() if (found := look_up.findall(text))} == {}


def test_keys_of_calibrators_are_those_that_onnxruntime_reads() -> None:
    tree = ast.parse(inspect.getsource(calibrate.create_calibrator))
    read = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and isinstance(node.args[0], ast.Constant)
    }
    assert read
    assert read <= CALIBRATOR_KEYS


def no_catalog() -> Any:
    raise AssertionError("plugins were asked")


@pytest.mark.parametrize("key", sorted(ORT_KEYS))
def test_a_key_of_onnxruntime_asks_no_plugin(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "shared_catalog", no_catalog)
    assert not is_ours({"extra_options": {key: None}})


@pytest.mark.parametrize("key", ["Target", "IncludeCLE", "EnableDPU", "CalibrationCache"])
def test_neither_does_one_of_the_host(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "shared_catalog", no_catalog)
    assert is_ours({"extra_options": {key: None}})


@pytest.mark.parametrize(("key", "ours"), [("MinMSEMode", True), ("NoSuchOption", False)])
def test_others_are_plugins_or_nobodys(key: str, ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Callable[[], Any]] = []
    shared = catalog.shared_catalog
    monkeypatch.setattr(catalog, "shared_catalog", lambda: asked.append(shared) or shared())
    assert is_ours({"extra_options": {key: None, "ActivationSymmetric": True}}) is ours
    assert asked
