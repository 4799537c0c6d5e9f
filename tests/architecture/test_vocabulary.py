"""A public name means one thing in a package, and a module is named by a noun or by what it does."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from tests.architecture.trees import BUNDLED, HOST, PLUGINS, files, parsed

PACKAGES = {folder.name: folder for folder in (HOST, *(PLUGINS / name for name in BUNDLED))}

# Names that stand twice, each with why it is the same thing, or a name that is not ours to choose.
SAME_THING = {
    "main": "what a script does when it is run: the command line, and the training of the demo",
    "prepare": "the stage within a call, and the same stage called alone through api",
    "emit": "the stage within a call, and the same stage called alone through api",
    "observe": "running samples through a model, and the stage of api that does so",
    "solve": "the solver, and the stage of api that calls it",
    "plan": "the stage of api, and a plan from text for tests of a plugin",
    "calibrate": "the call, its stage that observers hear of, and the call of 2019 (legacy)",
    "evaluate": "how good a model is on samples: any two models, and the demo's network on its digits",
    "quantize": "values to codes, and the call of 2019 (legacy), whose name is not ours to choose",
}

# What ends in -ing and is no gerund, or may not change.
NO_GERUNDS = {
    "testing": "an import path that stays, and a noun in every Python library",
    "padding": "a noun of convolutions: what is put around a picture",
    "planning": "the room between marks and a plan; `plan` is the plan itself",
    "rounding": "a noun of numerics: where a value between two codes goes",
}


def public_names(package: Path) -> dict[str, list[str]]:
    """{public class or function: modules that define it}."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in (file for file in files() if file.is_relative_to(package)):
        for node in parsed(file).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                found[node.name].append(str(file.relative_to(package)))
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_a_public_name_means_one_thing(package: str) -> None:
    twice = {name: files for name, files in public_names(PACKAGES[package]).items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if name not in SAME_THING} == {}


def test_no_exception_is_left_over() -> None:
    twice = {name for folder in PACKAGES.values() for name, files in public_names(folder).items() if len(files) > 1}
    assert set(SAME_THING) <= twice


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_named_by_a_gerund(package: str) -> None:
    parts = {part for file in PACKAGES[package].rglob("*.py") for part in file.relative_to(PACKAGES[package]).parts}
    names = {part.removesuffix(".py") for part in parts}
    assert sorted(name for name in names if name.endswith("ing") and name not in NO_GERUNDS) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_a_drawer(package: str) -> None:
    """A name that says nothing of what is inside."""
    stems = {file.stem for file in PACKAGES[package].rglob("*.py")}
    assert stems & {"utils", "util", "common", "helpers", "misc", "base", "core", "tools"} == set()
