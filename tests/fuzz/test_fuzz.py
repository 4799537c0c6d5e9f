"""No attack gets an exception that is not ours, a hang, or a file that is half written."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from pathlib import Path

import pytest

from ort_vitis_plugin.plugin.catalog import shared_catalog

from .campaign import FAMILIES, campaign, tried
from .options import in_turn, pairs

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


def test_every_option_gets_every_value() -> None:
    found = {(name, id(value)) for name, value in map(in_turn, range(pairs()))}
    assert len(found) == pairs()
    assert {name for name, _ in found} >= shared_catalog().options.keys()
