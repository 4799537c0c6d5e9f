"""Blocks of a page are written once, checked, and noticed where they are stale or gone."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.reference.pages import PAGES, stale_blocks, write_blocks

ROOT = Path(__file__).resolve().parents[3]
NAMES = {name for blocks in PAGES.values() for name in blocks}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with pages of empty blocks, the example plugin, and one file of the house."""
    (tmp_path / "tests" / "example_plugin").mkdir(parents=True)
    for name in ("ort_vitis_tiny_chip.py", "pyproject.toml"):
        source = Path("tests", "example_plugin", name)
        (tmp_path / source).write_text((ROOT / source).read_text())
    (tmp_path / "ort_vitis_plugin").mkdir()
    (tmp_path / "ort_vitis_plugin" / "errors.py").write_text('"""What goes wrong."""\n')
    for page, blocks in PAGES.items():
        empty = "".join(f"<!-- begin: {name} -->\n<!-- end: {name} -->\n" for name in blocks)
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text(f"# before\n{empty}after\n")
    return tmp_path


def test_docs_writes_once_and_checks(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(stale_blocks(checkout)) == NAMES
    assert main(["docs", "--check", "--root", str(checkout)]) == 1
    assert "stale: options" in capsys.readouterr().out
    assert set(write_blocks(checkout)) == NAMES
    assert main(["docs", "--check", "--root", str(checkout)]) == 0
    assert write_blocks(checkout) == []
    text = (checkout / "docs" / "reference" / "options.md").read_text()
    assert text.startswith("# before\n")
    assert text.endswith("after\n")


def test_a_removed_block_is_stale(checkout: Path) -> None:
    write_blocks(checkout)
    page = checkout / "docs" / "reference" / "steps_and_rules.md"
    page.write_text(page.read_text().replace("<!-- begin: rules -->", ""))
    assert stale_blocks(checkout) == ["rules"]
