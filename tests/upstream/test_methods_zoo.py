"""The page of real networks keeps the rows that are not measured anew, and says that theirs fails where it does."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from .methods_zoo import PAGE, SMALL, main, parted, rows_of

ZOO = """
from types import SimpleNamespace
import numpy as np, onnx
from tests.upstream.methods_table import network

def load_products():
    proto, feeds, judged = network("products")
    onnx.save(proto, {path!r})
    return SimpleNamespace(path={path!r}, calib=[each for each in feeds[:4] for _ in range(2)])
"""


@pytest.mark.filterwarnings("ignore")
def test_a_row_is_put_into_the_page(tmp_path: Path) -> None:
    zoo, page = tmp_path / "zoo.py", tmp_path / "page.md"
    zoo.write_text(ZOO.format(path=str(tmp_path / "float.onnx")), encoding="utf-8")
    page.write_text("| network |\n|---|\n| another | 1.0, 2.0 |\n", encoding="utf-8")
    assert main(["products", "--zoo", str(zoo), "--page", str(page)]) == 0
    found = rows_of(page)
    assert list(found) == ["another", "products"]
    entropy, distribution, alone, three, symmetric = (cell.strip() for cell in found["products"].split("|")[2:-1])
    for pair in (entropy, distribution):
        left, right = map(float, pair.split(", "))
        assert right > left - 1
    assert float(three) < float(distribution.split(", ")[1])
    assert min(float(alone), float(symmetric)) > 0


def test_what_calibrates_does_not_judge() -> None:
    feeds = [{"x": index} for index in range(50)]
    calibrate, judge = parted(feeds)  # type: ignore[arg-type]
    assert (len(calibrate), len(judge)) == (16, 16)
    assert [each for each in calibrate if each in judge] == []


def test_the_page_has_the_small_networks() -> None:
    assert [name for name in SMALL if name not in rows_of(PAGE)] == []
