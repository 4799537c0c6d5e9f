"""No option of onnxruntime gives a worse result in our pipeline than in its own, without a reason that is written."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import onnxruntime
import pytest

from ort_vitis_plugin.options.ort_options import OrtOptions

from .options_table import FORMATS, PAGE, REASONS, VALUES, rows

RECENT = tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 32)


def test_every_option_is_tried_and_listed() -> None:
    assert VALUES.keys() == {known.key for known in OrtOptions.options()}
    listed = {tuple(line.split("|")[1:3]) for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "}
    assert {(f" {key} ", f" {each.name} ") for key in VALUES for each in FORMATS} <= listed
    assert {key for key, _ in REASONS} <= VALUES.keys()


@pytest.mark.skipif(not RECENT, reason="the table is about onnxruntime 1.32")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", VALUES)
def test_it_is_the_same_or_as_near_or_explained(key: str) -> None:
    found = list(rows([key]))
    assert [row for row in found if row.found.startswith("UNEXPLAINED")] == []
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert [row.line for row in found if row.line not in page] == [], "write the page anew"
