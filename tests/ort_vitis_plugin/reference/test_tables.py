"""The generated tables are complete."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ort_vitis_plugin.plugin.catalog import bundled_catalog
from ort_vitis_plugin.reference.tables import BLOCKS, markdown

ROOT = Path(__file__).resolve().parents[3]


def test_table_cells_are_escaped() -> None:
    assert markdown(("a", "b"), [("x|y", "1\n2")]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |\n"


UNLISTED = ("Namespace", "OpFunctions", "OpQuantizer", "OptionGroup")


def test_everything_declared_is_in_a_table() -> None:
    from ort_vitis_plugin.plugin.entries import full_name

    catalog = bundled_catalog()
    text = "".join(block(catalog, ROOT) for name, block in BLOCKS.items() if not name.startswith(("manual", "example")))
    keys = [full_name(entry.key) for entry in catalog.entries if entry.kind not in UNLISTED]
    assert [key for key in keys if f"`{key}`" not in text and key not in catalog.libraries()] == []
    assert [key for key in catalog.options if f"`{key}`" not in text] == []


LISTING = """
from ort_vitis_plugin.plugin.catalog import shared_catalog
for option in sorted(shared_catalog().options.values(), key=lambda option: option.key):
    print(option.key, option.doc)
"""


def test_python_without_docstrings_keeps_the_texts_of_options(capsys: pytest.CaptureFixture[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    command = [sys.executable, "-OO", "-c", LISTING]
    without = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    exec(LISTING, {})
    assert capsys.readouterr().out == without
    assert len(without.splitlines()) > 50
