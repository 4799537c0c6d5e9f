"""``ort-vitis options``, ``plugins`` and ``explain`` list what can be asked for."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.cli.main import main


def test_options_lists_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    assert main(["options"]) == 0
    shown = capsys.readouterr().out
    assert [key for key in shared_catalog().options if key not in shown] == []


def test_explain_and_plugins_name_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "NPULimitationCheck"]) == 0
    shown = capsys.readouterr().out
    assert "IPULimitationCheck: bool = True" in shown
    assert main(["plugins"]) == 0
    shown = capsys.readouterr().out
    assert "ort-vitis-plugin 0.1.0" in shown
    assert "ort_vitis_ipu" in shown
