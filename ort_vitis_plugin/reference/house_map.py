"""A house has floors: a room takes from the rooms below it alone, and the map says what each file is about."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
import inspect
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..plugin.catalog import Catalog

HOST = "ort_vitis_plugin"

# From the roof down. tests/architecture holds every import to it, those for typing and those inside functions too.
FLOORS = (
    "__main__",
    "cli",
    "reference",
    "testing",
    "api",
    "trials",
    "presets",
    "compat",
    "entry",
    "legacy",
    "demo",
    "analysis",
    "pipeline",
    "measure",
    "planning",
    "selection",
    "request",
    "convert",
    "plugin",
    "emission",
    "report",
    "solver",
    "calibration",
    "plan",
    "sketch",
    "custom_ops",
    "graph",
    "onnx_io",
    "options",
    "numerics",
    "data_readers",
    "lazy",
    "foreign",
    "errors",
)


def first_line(file: Path) -> str:
    """What a module says of itself in the first line of its docstring."""
    with tokenize.open(file) as source:
        tokens = tokenize.generate_tokens(source.readline)
        first = next((token for token in tokens if token.type not in (tokenize.COMMENT, tokenize.NL)), None)
    if first is None or first.type != tokenize.STRING:
        return ""
    return inspect.cleandoc(ast.literal_eval(first.string)).partition("\n")[0]


def house_map(catalog: Catalog, root: Path) -> str:
    """Every file of the host by floor, from the roof down, and every file of the bundled plugins."""
    floors = len(FLOORS)
    host = root / HOST
    parts = [f"\n**`{HOST}/`**: {first_line(host / '__init__.py')}\n" if (host / "__init__.py").is_file() else ""]
    for number, room in enumerate(FLOORS):
        parts.append("".join(_room(host, room, f"floor {floors - number}: ")))
    for folder in sorted((root / "plugins").glob("ort_vitis_*")):
        parts.append("".join(_room(folder.parent, folder.name, "plugin: ")))
    return "".join(parts)


def _room(parent: Path, room: str, title: str) -> Iterator[str]:
    folder, file = parent / room, parent / f"{room}.py"
    if file.is_file():
        yield f"\n**{title}`{file.name}`**: {first_line(file)}\n"
    elif (folder / "__init__.py").is_file():
        yield f"\n**{title}`{room}/`**: {first_line(folder / '__init__.py')}\n\n"
        for inside in sorted(folder.rglob("*.py")):
            if inside != folder / "__init__.py":
                name = str(inside.relative_to(folder)).replace("\\", "/")
                yield f"* `{name.removesuffix('/__init__.py') + '/' if inside.name == '__init__.py' else name}`: "
                yield f"{first_line(inside)}\n"
