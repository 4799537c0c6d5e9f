"""The generated tables are complete."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

from ort_vitis_plugin.reference.tables import BLOCKS, bundled_catalog, markdown

ROOT = Path(__file__).resolve().parents[3]


def test_table_cells_are_escaped() -> None:
    assert markdown(("a", "b"), [("x|y", "1\n2")]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |\n"


def test_everything_declared_is_in_a_table() -> None:
    from ort_vitis_plugin.plugin.entries import full_name

    catalog = bundled_catalog()
    text = "".join(block(catalog, ROOT) for name, block in BLOCKS.items() if not name.startswith(("manual", "example")))
    keys = [
        full_name(entry.key)
        for entry in catalog.entries
        if entry.kind not in ("OpQuantizer", "OptionGroup", "Namespace")
    ]
    assert [key for key in keys if f"`{key}`" not in text and key not in catalog.libraries()] == []
    assert [key for key in catalog.options if f"`{key}`" not in text] == []
