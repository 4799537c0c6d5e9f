"""Every file of the package and of the bundled plugins is parsed once for all tests of the house."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOST = ROOT / "ort_vitis_plugin"
PLUGINS = ROOT / "plugins"
BUNDLED = sorted(folder.name for folder in PLUGINS.glob("ort_vitis_*"))


@cache
def files() -> tuple[Path, ...]:
    """The host's first, then each plugin's."""
    folders = (HOST, *(PLUGINS / name for name in BUNDLED))
    return tuple(file for folder in folders for file in sorted(folder.rglob("*.py")))


@cache
def parsed(file: Path) -> ast.Module:
    """The tree of one of them."""
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def module_name(file: Path) -> str:
    """Its dotted name."""
    parts = file.relative_to(ROOT if file.is_relative_to(HOST) else PLUGINS).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shown(file: Path) -> str:
    """Its path, as messages give it."""
    return file.relative_to(ROOT).as_posix()
