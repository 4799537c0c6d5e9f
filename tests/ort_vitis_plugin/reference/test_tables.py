"""The generated tables are complete, and a stale one is noticed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.reference.manual import manual, marked_tests, rows
from ort_vitis_plugin.reference.tables import BLOCKS, bundled_catalog, markdown, stale_blocks, write_blocks

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with a README of empty blocks and the example plugin."""
    for name in ("ort_vitis_tiny_chip.py", "pyproject.toml"):
        source = f"tests/example_plugin/{name}"
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / source).write_text((ROOT / source).read_text())
    blocks = "".join(f"<!-- begin: {name} -->\n<!-- end: {name} -->\n" for name in BLOCKS)
    (tmp_path / "README.md").write_text(f"# before\n{blocks}after\n")
    return tmp_path


def test_table_cells_are_escaped() -> None:
    assert markdown(("a", "b"), [("x|y", "1\n2")]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |\n"


def test_docs_writes_once_and_checks(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(stale_blocks(checkout)) == set(BLOCKS)
    assert main(["docs", "--check", "--root", str(checkout)]) == 1
    assert "stale: options" in capsys.readouterr().out
    assert set(write_blocks(checkout)) == set(BLOCKS)
    assert main(["docs", "--check", "--root", str(checkout)]) == 0
    assert write_blocks(checkout) == []
    text = (checkout / "README.md").read_text()
    assert text.startswith("# before\n")
    assert text.endswith("after\n")


def test_a_removed_block_is_stale(checkout: Path) -> None:
    write_blocks(checkout)
    readme = checkout / "README.md"
    readme.write_text(readme.read_text().replace("<!-- begin: rules -->", ""))
    assert stale_blocks(checkout) == ["rules"]


def test_everything_declared_is_in_a_table() -> None:
    from ort_vitis_plugin.plugin.entries import full_name

    catalog = bundled_catalog()
    text = "".join(
        block(catalog, ROOT) for name, block in BLOCKS.items() if name not in ("manual", "example", "example-package")
    )
    keys = [full_name(entry.key) for entry in catalog.entries if entry.kind not in ("OpQuantizer", "OptionGroup")]
    assert [key for key in keys if f"`{key}`" not in text and key not in catalog.libraries()] == []
    assert [key for key in catalog.options if f"`{key}`" not in text] == []


def test_every_name_of_the_manual_is_declared_with_its_documented_default() -> None:
    assert len(manual()["arguments"]) == 23
    assert len(manual()["options"]) == 48
    different = {
        row.name: row.found for row in rows(bundled_catalog(), ROOT) if not row.as_documented and row.documented
    }
    assert different == {}


def test_marked_tests_are_found_in_decorators_and_parameters(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        "@pytest.mark.option('A', 'B')\ndef test_one(): ...\n"
        "@pytest.mark.parametrize('v', [pytest.param(1, marks=pytest.mark.option('C'))])\ndef test_two(v): ...\n"
        "@pytest.mark.option('D')\ndef helper(): ...\n"
    )
    one, two = ("tests/test_x.py::test_one",), ("tests/test_x.py::test_two",)
    assert marked_tests(tmp_path / "tests") == {"A": one, "B": one, "C": two}
