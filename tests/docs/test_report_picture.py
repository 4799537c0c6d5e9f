"""The README's picture shows what quantize prints now."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re

import pytest

from tests.docs.report_picture import PICTURE, picture

HEADINGS = re.compile(r">([A-Za-z][A-Za-z&#160; ]*)</text>")


@pytest.mark.slow
def test_the_picture_has_the_tables_of_now() -> None:
    told = PICTURE.read_text(encoding="utf-8")
    assert HEADINGS.findall(told) == HEADINGS.findall(picture())
