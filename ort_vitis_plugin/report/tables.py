"""The closing tables of a call on a terminal."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .device_causes import causes
from .verdict import STAGES

if TYPE_CHECKING:
    from .device_causes import Cause
    from .findings import Findings

ROWS = 20
SHOWN_NAMES = 4
WIDE = 160


def wide_console() -> Console:
    """A terminal as wide as it is; files and pipes get lines that are seldom folded."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDE)


def table(title: str, headings: Iterable[str], rows: Iterable[Iterable[object]], *, limit: int | None = None) -> Table:
    """A table; headings that start with '#' are of numbers. Beyond ``limit`` rows only their count is told."""
    drawn = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    columns = list(headings)
    for heading in columns:
        drawn.add_column(heading.lstrip("#"), justify="right" if heading.startswith("#") else "left", overflow="fold")
    cells = [[Text(str(cell)) for cell in row] for row in rows]  # names may hold brackets, which are markup to rich
    for row in cells[:limit]:
        drawn.add_row(*row)
    if limit is not None and len(cells) > limit:
        drawn.add_row(f"... {len(cells) - limit} more", *[""] * (len(columns) - 1))
    return drawn


def cause_table(title: str, found: Iterable[Cause]) -> Table:
    """One row per cause: how many nodes, why, what to add to the command line, and some of the nodes."""
    rows = [(len(cause.nodes), cause.what, cause.remedy, _some(cause.nodes)) for cause in found]
    return table(title, ("#nodes", "why", "add", "such as"), rows, limit=ROWS)


def _some(names: Sequence[str]) -> str:
    rest = f", ... {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + rest


def tables(report: Findings) -> Iterator[Table]:
    """What was quantized, what was not and why, what the rules moved, and how near the result is to float."""
    done = Counter(report.quantized.values())
    kept = Counter(reason.split(":", 1)[0] for reason in report.left_float.values())
    operators = [(op, done[op] or "", kept[op] or "") for op in sorted(done.keys() | kept.keys())]
    yield table("Operators", ("op type", "#quantized", "#left float"), operators)
    if report.left_float:
        yield table("Left float", ("node", "why"), report.left_float.items(), limit=ROWS)
    if report.patterns:
        hits = [(pattern, len(found), _some(found)) for pattern, found in report.patterns.items()]
        yield table("Patterns", ("pattern", "#hits", "names"), hits)
    if report.transforms:
        yield table("Rewrites of the float graph", ("step", "#rewrites"), report.transforms.items())
    if report.skips:
        skips = [(skip.step, skip.node, skip.reason) for skip in report.skips]
        yield table("Declined", ("step", "node", "why"), skips, limit=ROWS)
    if report.moves:
        moves = [(move.tensor, f"{move.before} -> {move.after}", ", ".join(move.rules)) for move in report.moves]
        yield table("Moved by hardware rules", ("tensor", "position", "rules"), moves, limit=ROWS)
    for title, found in (
        ("Rules that do not hold", dict.fromkeys(report.violations, "")),
        ("Constants that are not data", report.not_data),
        ("Not finite in calibration", report.non_finite),
    ):
        if found:
            yield table(title, ("where", "what"), found.items(), limit=ROWS)
    if report.placement:
        yield cause_table("Not for the device", causes(report.placement, report.open_shapes))
    if report.sqnr:
        yield verdict_table(report)


def verdict_table(report: Findings) -> Table:
    """Decibels against float of each output and each part of one, worst first; in between, what the steps left."""
    judged = report.verdict.judgements
    stages = [stage for stage in STAGES[:-1] if any(stage in each.sqnr for each in judged)]
    columns = {f"#{stage}": [told_decibels(each.sqnr.get(stage)) for each in judged] for stage in stages}
    columns["#SQNR"] = [told_decibels(each.decibels) for each in judged]
    if any(each.agreement is not None for each in judged):
        columns["#same class"] = ["" if each.agreement is None else f"{each.agreement:.0%}" for each in judged]
    if any(each.steps for each in judged):
        columns["lost by"] = [", ".join(each.steps) for each in judged]
    if report.objections:
        columns["bad because"] = [report.objections.get(each.name, "") for each in judged]
    rows = [list(row) for row in zip((each.name for each in judged), *columns.values(), strict=True)]
    told = {each.name for each in judged}
    for name, value in report.sqnr.items():
        if name not in told:
            known = {"#SQNR": told_decibels(value), "bad because": report.objections.get(name, "")}
            rows.append([name, *(known.get(heading, "") for heading in columns)])
    return table("Against float, on random data" if report.random_data else "Against float", ["output", *columns], rows)


def told_decibels(value: float | None) -> str:
    """``12.3 dB``; nothing where nothing was measured."""
    return "" if value is None else f"{value:.1f} dB"


def show(report: Findings, console: Console | None = None) -> None:
    """Draw the tables, then the notes and the sizes."""
    console = console or wide_console()
    for drawn in tables(report):
        console.print(drawn)
    for advice in report.verdict.advice[:1]:
        console.print(f"advice: {advice}", highlight=False, markup=False)
    for text in report.notes:
        console.print(f"note: {text}", highlight=False, markup=False)
    if report.float_bytes:
        share = report.quantized_bytes / report.float_bytes
        sizes = f"{report.float_bytes:,} bytes float, {report.quantized_bytes:,} bytes quantized ({share:.0%})"
        console.print(f"size: {sizes}", highlight=False, markup=False)
    if report.seconds:
        slowest = sorted(report.seconds.items(), key=lambda item: -item[1])[:3]
        parts = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in slowest)
        console.print(f"time: {sum(report.seconds.values()):.1f} s ({parts})", highlight=False, markup=False)
