"""Every argument and option of the vai_q_onnx manual: declared or not, its default, and the test that proves it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
import inspect
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..entry.quantize_static import quantize_static
from ..plugin.catalog import Catalog


@dataclass(frozen=True)
class Row:
    """One name of the manual. ``found`` is the default here as text, None where nothing of that name is declared."""

    name: str
    documented: str
    found: str | None
    tests: tuple[str, ...]

    @property
    def as_documented(self) -> bool:
        return self.found is not None and (self.documented == "?" or _same(self.documented, self.found))


@cache
def manual() -> dict[str, dict[str, str]]:
    """The names and documented defaults, by section."""
    return tomllib.loads(Path(__file__).with_name("manual.toml").read_text(encoding="utf-8"))


def rows(catalog: Catalog, root: Path) -> Iterator[Row]:
    """Arguments first, then options; tests are those of the checkout at ``root``."""
    proofs = marked_tests(root / "tests")
    parameters = inspect.signature(quantize_static).parameters
    for name, documented in manual()["arguments"].items():
        yield Row(name, documented, _default(parameters, name), proofs.get(name, ()))
    for name, documented in manual()["options"].items():
        known = catalog.options.get(name)
        yield Row(name, documented, None if known is None else repr(known.default), proofs.get(name, ()))


@cache
def marked_tests(folder: Path) -> dict[str, tuple[str, ...]]:
    """{name: tests} of every ``@pytest.mark.option("name", ...)`` below the folder, read without running anything."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if ".option(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for name in _marks(node):
                    label = f"{file.relative_to(folder.parent).as_posix()}::{node.name}"
                    found.setdefault(name, []).append(label)
    return {name: tuple(dict.fromkeys(labels)) for name, labels in found.items()}


def _marks(function: ast.FunctionDef) -> Iterator[str]:
    """Names in pytest.mark.option(...), as a decorator or in the marks of a parameter."""
    for decorator in function.decorator_list:
        for node in ast.walk(decorator):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "option":
                yield from (a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))


def _default(parameters: Mapping[str, inspect.Parameter], name: str) -> str | None:
    if name not in parameters:
        return None
    default: Any = parameters[name].default
    if default is inspect.Parameter.empty:
        return ""
    return f"{type(default).__name__}.{default.name}" if hasattr(default, "name") else repr(default)


def _same(documented: str, found: str) -> bool:
    if documented == found:
        return True
    try:
        return bool(ast.literal_eval(documented) == ast.literal_eval(found))
    except (ValueError, SyntaxError):
        return False
