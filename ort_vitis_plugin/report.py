"""What a call did: quantized and left float and why, moves of the rules, accuracy, sizes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnx import ModelProto
    from rich.console import Console

    from .graph import Skip
    from .plan import Move


@dataclass
class Report:
    """Filled stage by stage. ``sqnr`` maps outputs to decibels against float; ``left_float`` nodes to reasons."""

    configuration: dict[str, str] = field(default_factory=dict)
    transforms: dict[str, int] = field(default_factory=dict)
    skips: list[Skip] = field(default_factory=list)
    quantized: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    left_float: dict[str, str] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    not_data: dict[str, str] = field(default_factory=dict)
    non_finite: dict[str, str] = field(default_factory=dict)
    placement: dict[str, str] = field(default_factory=dict)
    sqnr: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    float_bytes: int = 0
    quantized_bytes: int = 0

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def as_dict(self) -> dict[str, Any]:
        """Plain data; infinite decibels become None."""
        data = asdict(self)
        data["sqnr"] = {name: value if math.isfinite(value) else None for name, value in self.sqnr.items()}
        return data

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1)

    def print(self, console: Console | None = None) -> None:
        """Draw the closing tables on a terminal."""
        from rich.console import Console
        from rich.table import Table

        console = console or Console()
        table = Table(title="Quantized operators")
        for heading in ("op type", "quantized", "left float"):
            table.add_column(heading, justify="left" if heading == "op type" else "right")
        done, kept = (
            Counter(self.quantized.values()),
            Counter(text.split(":", 1)[0] for text in self.left_float.values()),
        )
        for op_type in sorted(done.keys() | kept.keys()):
            table.add_row(op_type, str(done[op_type] or ""), str(kept[op_type] or ""))
        console.print(table)
        if self.left_float:
            table = Table(title="Left float")
            table.add_column("node")
            table.add_column("why")
            for name, reason in list(self.left_float.items())[:20]:
                table.add_row(name, reason)
            if len(self.left_float) > 20:
                table.add_row(f"... {len(self.left_float) - 20} more", "")
            console.print(table)
        if self.moves:
            table = Table(title="Moved by hardware rules")
            for heading in ("tensor", "position", "rules"):
                table.add_column(heading)
            for move in self.moves[:20]:
                table.add_row(move.tensor, f"{move.before} -> {move.after}", ", ".join(move.rules))
            if len(self.moves) > 20:
                table.add_row(f"... {len(self.moves) - 20} more", "", "")
            console.print(table)
        for text in (*self.violations, *self.notes):
            console.print(f"note: {text}", highlight=False)
        table = Table(title="Against float")
        table.add_column("output")
        table.add_column("SQNR", justify="right")
        for name, value in self.sqnr.items():
            table.add_row(name, f"{value:.1f} dB")
        console.print(table)
        if self.float_bytes:
            console.print(
                f"size: {self.float_bytes:,} bytes float, {self.quantized_bytes:,} bytes quantized", highlight=False
            )


@dataclass(frozen=True)
class Result:
    """What ``quantize_static`` of this package returns; ``path`` is None when no file was asked for."""

    model: ModelProto
    report: Report
    path: Path | None = None
