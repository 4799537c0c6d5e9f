"""A report is what a call found, drawn on a terminal or written as JSON."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .findings import Findings

if TYPE_CHECKING:
    from onnx import ModelProto
    from rich.console import Console


@dataclass
class Report(Findings):
    """The findings of one call, and how to show them."""

    def print(self, console: Console | None = None) -> None:
        """Draw the closing tables on a terminal."""
        from .tables import show

        show(self, console)


@dataclass(frozen=True)
class Result:
    """What ``quantize_static`` of this package returns; ``path`` is None when no file was asked for."""

    model: ModelProto
    report: Report
    path: Path | None = None
