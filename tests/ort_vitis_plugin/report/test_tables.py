"""What a terminal shows is what the report holds: every name and reason, letter by letter."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from rich.console import Console

from ort_vitis_plugin.report.report import Report
from ort_vitis_plugin.report.tables import show

NAMES = ("node[batch, 64]", "/model.0/[b]conv[/b]", "a\\[red]", "[/]", "t:0")
MAPPINGS = ("left_float", "not_data", "non_finite", "placement")


def shown(report: Report) -> str:
    console = Console(width=400)
    with console.capture() as capture:
        show(report, console)
    return capture.get()


def test_brackets_are_letters() -> None:
    report = Report(notes=list(NAMES), violations=list(NAMES))
    for field in MAPPINGS:
        setattr(report, field, {name: f"why {field} {name}" for name in NAMES})
    report.sqnr = dict.fromkeys(NAMES, 30.0)
    text = shown(report)
    for name in NAMES:
        assert text.count(name) >= 2 * len(MAPPINGS) + 3, name
