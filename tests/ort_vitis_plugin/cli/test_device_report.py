"""``ort-vitis device-report`` holds the provider's report against the forecast."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.demo import data
from tests.ort_vitis_plugin.analysis.test_device_report import stand_in


def test_a_report_of_elsewhere_is_read_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = str(stand_in(tmp_path, left=("Concat",)))
    assert main(["device-report", "--report", report, "--float", str(data.model_path())]) == 0
    shown = capsys.readouterr().out
    assert "38 of 40 nodes are on the device" in shown
    assert "Concat" in shown.split("Otherwise than the forecast")[1]
    assert main(["device-report", str(data.model_path())]) == 2
    assert main(["device-report"]) == 2
