"""Tests mirror the tree: a module of the host has a test file of its name, or stands here with where it is tested."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOST, TESTS = ROOT / "ort_vitis_plugin", ROOT / "tests"
MIRROR = TESTS / "ort_vitis_plugin"

# Training needs torch and scikit-learn, and its result ships: what it made is tested. Marks are records without a rule.
ELSEWHERE = {
    "demo/train.py": "models/test_networks.py",
    "plan/marks.py": "ort_vitis_plugin/planning/test_marker.py",
}


def without_a_test_file() -> set[str]:
    """Modules of the host, packages' own files aside, that have no test file of their name."""
    modules = [file for file in HOST.rglob("*.py") if file.name != "__init__.py"]
    return {
        file.relative_to(HOST).as_posix()
        for file in modules
        if not (MIRROR / file.relative_to(HOST).parent / f"test_{file.name}").is_file()
    }


def test_every_module_has_its_tests() -> None:
    assert without_a_test_file() - ELSEWHERE.keys() == set()


def test_every_entry_is_a_module() -> None:
    assert [name for name in ELSEWHERE if not (HOST / name).is_file()] == []


def test_no_entry_has_a_test_file_of_its_name() -> None:
    assert ELSEWHERE.keys() - without_a_test_file() == set()


def test_entries_are_sorted() -> None:
    assert list(ELSEWHERE) == sorted(ELSEWHERE)


def test_the_named_files_hold_tests() -> None:
    assert [file for file in ELSEWHERE.values() if "def test_" not in (TESTS / file).read_text(encoding="utf-8")] == []
