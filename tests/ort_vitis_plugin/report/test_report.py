"""A report draws itself, and a result without a file says so."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import ModelProto
from rich.console import Console

from ort_vitis_plugin.report.report import Report, Result


def test_a_report_is_drawn_where_it_is_told() -> None:
    console = Console(width=120)
    with console.capture() as capture:
        Report(notes=["what happened"]).print(console)
    assert "what happened" in capture.get()


def test_reports_share_nothing() -> None:
    one, two = Report(), Report()
    one.note("a")
    one.note("a")
    assert one.notes == ["a"]
    assert two.notes == []


def test_a_result_without_a_file() -> None:
    assert Result(ModelProto(), Report()).path is None
