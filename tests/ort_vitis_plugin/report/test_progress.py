"""The bar of a stage: on a terminal with count, rate and time left; nothing elsewhere."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import io
import sys

import pytest

from ort_vitis_plugin.report.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, total: int = 8) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with Progress("calibration samples", total) as progress:
        for _ in range(5):
            progress.advance()
    return stream.getvalue()


def test_a_terminal_sees_count_rate_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORT_VITIS_PROGRESS", raising=False)
    text = shown(monkeypatch, Terminal())
    assert "calibration samples" in text
    assert "5/8" in text
    assert "/s" in text
    assert ":" in text.rpartition("/s")[2]


def test_the_number_of_samples_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORT_VITIS_PROGRESS", raising=False)
    assert "5/?" in shown(monkeypatch, Terminal(), total=0)


def test_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORT_VITIS_PROGRESS", raising=False)
    assert shown(monkeypatch, io.StringIO()) == ""
    monkeypatch.setattr(sys, "stderr", None)  # of a service, or of a program with a window
    with Progress("calibration samples", 2) as progress:
        progress.advance()
    monkeypatch.setenv("ORT_VITIS_PROGRESS", "0")
    assert shown(monkeypatch, Terminal()) == ""


def test_elsewhere_a_record_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from ort_vitis_plugin.report import progress

    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    monkeypatch.delenv("ORT_VITIS_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    caplog.set_level("INFO")
    with Progress("calibration samples") as stage:
        stage.total(60)
        for _ in range(60):
            now += 1.0
            stage.advance()
    assert [record.name for record in caplog.records] == ["ort_vitis_plugin.report.progress"] * 6
    assert caplog.messages[0] == "calibration samples: 10 of 60 done, 1.0/s, 50 s left"
    assert caplog.messages[5] == "calibration samples: 60 of 60 done, 1.0/s, 0 s left"
