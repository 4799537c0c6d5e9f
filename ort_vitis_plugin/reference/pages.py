"""A page holds blocks between markers that are written from the code, so that they cannot be stale unnoticed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from pathlib import Path

from ..errors import ModelNotFoundError
from ..onnx_io.whole_file import write_text
from ..plugin.catalog import bundled_catalog
from .house_map import house_map
from .tables import BLOCKS, Block

# The pages that carry generated blocks, and which.
_TABLES = {
    "docs/how-to/plugin.md": ("example", "example-package"),
    "docs/reference/manual.md": ("manual",),
    "docs/reference/methods.md": ("formats", "types", "methods", "roundings"),
    "docs/reference/options.md": ("options",),
    "docs/reference/plugin_api.md": ("hooks",),
    "docs/reference/presets.md": ("presets", "targets"),
    "docs/reference/steps_and_rules.md": ("transforms", "rules"),
}
PAGES: dict[str, dict[str, Block]] = {
    **{page: {name: BLOCKS[name] for name in names} for page, names in _TABLES.items()},
    "DESIGN.md": {"map": house_map},
}

_BLOCK = re.compile(r"(<!-- begin: (?P<name>[a-z-]+) -->\n).*?(<!-- end: (?P=name) -->)", re.DOTALL)


def rendered(text: str, blocks: dict[str, Block], root: Path) -> str:
    """The text with every block between markers written anew."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}{blocks[match['name']](bundled_catalog(), root)}{match[3]}"

    return _BLOCK.sub(block, text)


def stale_blocks(root: Path) -> list[str]:
    """Names of the blocks that are not as they would be written, or not there.

    Raises:
        ModelNotFoundError: the folder is no source checkout: an installation has neither these pages nor the tests.
    """
    if not all((root / name).exists() for name in (*PAGES, "tests")):
        raise ModelNotFoundError(
            f"{str(root)!r} is no source checkout of ort-vitis-plugin, whose {' and '.join(PAGES)} are written from "
            "the plugins and the tests; name one: ort-vitis docs --root FOLDER"
        )
    stale = []
    for page, blocks in PAGES.items():
        text = (root / page).read_text(encoding="utf-8")
        there = {match["name"]: match[0] for match in _BLOCK.finditer(text)}
        fresh = {match["name"]: match[0] for match in _BLOCK.finditer(rendered(text, blocks, root))}
        stale += [name for name in blocks if name not in there or there[name] != fresh[name]]
    return stale


def write_blocks(root: Path) -> list[str]:
    """Write every block of every page; the names of those that changed."""
    stale = stale_blocks(root)
    for page, blocks in PAGES.items():
        file = root / page
        write_text(file, rendered(file.read_text(encoding="utf-8"), blocks, root))
    return stale
