"""What is known of a device cites its source; functions say what they raise, and shapes or units of arrays."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ort_vitis_plugin
from ort_vitis_plugin import api, errors
from ort_vitis_plugin.api import Adjuster, Fusion, Stage, Target, Transform
from ort_vitis_plugin.plugin.catalog import bundled_catalog
from tests.architecture.trees import HOST, files, parsed, shown

OURS = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
OURS -= {"PluginWarning"}
ARRAYS = re.compile("NDArray|ndarray|ArrayLike|Floats|Integers")
SHAPE = re.compile(
    r"\[[\w*, .:-]+\]|\b(shapes?|scalars?|axis|axes|vectors?|decibels|unit|dB)\b|broadcast|"
    r"(one|entry|number) for each|by channel",
    re.IGNORECASE,
)
# Rooms in which every public function counts; elsewhere those that the package or ``api`` publishes.
NUMERIC = ("numerics", "measure")


def facts_of_devices() -> Iterator[tuple[str, Callable[..., Any]]]:
    """(name, function) of every hardware rule, fusion, simulation and forecast of placement that is bundled."""
    catalog = bundled_catalog()
    for rule in catalog.all(Adjuster):
        yield rule.key, rule.rule
    for pair in catalog.all(Fusion):
        yield pair.key, pair.applies
    for step in catalog.all(Transform):
        if step.stage is Stage.SIMULATE:
            yield step.key, step.apply
    for target in catalog.all(Target):
        if target.placement is not None:
            yield f"{target.name} placement", target.placement


FACTS = list(facts_of_devices())


@pytest.mark.parametrize(("name", "function"), FACTS, ids=[name for name, _ in FACTS])
def test_a_fact_of_a_device_cites_its_source(name: str, function: Callable[..., Any]) -> None:
    module = sys.modules[function.__module__]
    assert "Source: " in (module.__doc__ or ""), f"{name} in {module.__name__}"


def test_there_are_facts_to_cite() -> None:
    assert len(FACTS) >= 8 + 4 + 6 + 1


def raised(function: ast.FunctionDef) -> set[str]:
    """Our errors that a function raises itself, not in functions inside it."""
    names, waiting = set(), list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            names.add(node.exc.func.id)
        waiting += ast.iter_child_nodes(node)
    return names & OURS


def public_functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                    yield f"{node.name}.{method.name}", method


def raises_silently(tree: ast.Module) -> list[tuple[str, list[str]]]:
    return [
        (name, sorted(found))
        for name, function in public_functions(tree)
        if (found := raised(function)) and "aise" not in (ast.get_docstring(function) or "")
    ]


def test_what_raises_says_so() -> None:
    assert {shown(file): silent for file in files() if (silent := raises_silently(parsed(file)))} == {}


def without_a_shape(room: str, tree: ast.Module) -> list[str]:
    """Published functions of a file through which arrays go, and whose text (with their class's) tells no shape."""
    published = {*api.__all__, *ort_vitis_plugin.__all__}
    classes = {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.ClassDef)}
    found = []
    for name, function in public_functions(tree):
        owner = name.partition(".")[0]
        if owner not in published and room not in NUMERIC:
            continue
        given = [each.annotation for each in (*function.args.args, *function.args.kwonlyargs)]
        types = " ".join(ast.unparse(each) for each in (*given, function.returns) if each is not None)
        text = f"{ast.get_docstring(function) or ''} {classes.get(owner, '')}"
        if ARRAYS.search(types) and not SHAPE.search(text):
            found.append(name)
    return found


def test_arrays_that_go_in_or_out_have_a_shape_or_a_unit() -> None:
    rooms = {file: file.relative_to(HOST).parts[0] for file in files() if file.is_relative_to(HOST)}
    assert {shown(file): found for file, room in rooms.items() if (found := without_a_shape(room, parsed(file)))} == {}


def test_a_function_of_arrays_without_a_shape_is_found() -> None:
    text = 'def twice(x: NDArray[Any]) -> NDArray[Any]:\n    """{}"""\n    return 2 * x\n'
    for said, found in (("Two of it.", ["twice"]), ("Two of x [N, C].", []), ("In x's unit.", [])):
        assert without_a_shape("numerics", ast.parse(text.format(said))) == found
