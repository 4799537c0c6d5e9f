"""No attack gets an exception that is not ours, a hang, or a file that is half written."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from pathlib import Path

import pytest

from .campaign import FAMILIES, campaign, tried

SEED = 20261128
MINUTES = float(os.environ.get("FUZZ_MINUTES", "3"))

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="attacks run in forked processes")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_campaign() -> None:
    found = campaign(60 * MINUTES, SEED, list(FAMILIES))
    assert found.wrong == []
    assert set(found.tried) == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_few_of_every_family(family: str, tmp_path: Path) -> None:
    for number in range(8):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert tried(family, SEED, number, folder) == ""
