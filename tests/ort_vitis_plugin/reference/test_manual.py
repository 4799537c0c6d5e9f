"""The manual's names are all there, and the tests that prove them are found."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

from ort_vitis_plugin.plugin.catalog import bundled_catalog
from ort_vitis_plugin.reference.manual import manual, marked_tests, rows

ROOT = Path(__file__).resolve().parents[3]


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
