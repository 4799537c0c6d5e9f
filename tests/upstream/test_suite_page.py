"""The page on onnxruntime's own tests counts each that fails once, and names tests that are there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).with_name("suite.md")
ROOT = Path(__file__).parents[2]
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_numbers_add_up() -> None:
    rows = [line.split("|")[2].strip() for line in TEXT.splitlines() if line.startswith("| ")]
    assert f"{sum(map(int, filter(str.isdigit, rows)))} fail." in TEXT


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", TEXT))))
def test_what_is_named_is_there(named: str) -> None:
    path, _, name = named.partition("::")
    assert f"def {name}" in (ROOT / path).read_text(encoding="utf-8")
