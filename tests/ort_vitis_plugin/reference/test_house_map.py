"""The map tells every file of the house once, with the floor on which its room lies."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

from ort_vitis_plugin.plugin.catalog import bundled_catalog
from ort_vitis_plugin.reference.house_map import FLOORS, first_line, house_map

ROOT = Path(__file__).resolve().parents[3]


def test_every_file_is_on_the_map() -> None:
    told = house_map(bundled_catalog(), ROOT)
    for base in (ROOT / "ort_vitis_plugin", *sorted((ROOT / "plugins").glob("ort_vitis_*"))):
        for file in base.rglob("*.py"):
            assert first_line(file), file
            assert first_line(file) in told, file


def test_floors_are_counted_from_the_ground(tmp_path: Path) -> None:
    room = tmp_path / "ort_vitis_plugin" / FLOORS[1]
    (room / "inner").mkdir(parents=True)
    (room / "__init__.py").write_text('"""A room."""')
    (room / "verb.py").write_text('"""A file."""')
    (room / "inner" / "__init__.py").write_text('"""A folder in it."""')
    (tmp_path / "ort_vitis_plugin" / f"{FLOORS[-1]}.py").write_text('"""The ground.\n\nMore."""')
    assert house_map(bundled_catalog(), tmp_path).split("\n") == [
        "",
        f"**floor {len(FLOORS) - 1}: `{FLOORS[1]}/`**: A room.",
        "",
        "* `inner/`: A folder in it.",
        "* `verb.py`: A file.",
        "",
        f"**floor 1: `{FLOORS[-1]}.py`**: The ground.",
        "",
    ]
