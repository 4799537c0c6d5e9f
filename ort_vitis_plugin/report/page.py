"""A report is one file of HTML: it needs no network, no program but a browser, and no mouse."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TEMPLATE = Path(__file__).with_name("page.html.j2")
WIDTH, HEIGHT, MARGIN = 320.0, 90.0, 6.0
LINE_WIDTH, LINE_HEIGHT = 960.0, 220.0
SHOWN_DECIBELS = 80.0  # above it all is well


def page(data: Mapping[str, Any], title: str = "Quantization report") -> str:
    """The HTML of ``report_data``'s result.

    Raises:
        UnsupportedError: jinja2 is not installed (the extra ``[report]``).
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise UnsupportedError("a report in HTML needs jinja2: pip install 'ort-vitis-plugin[report]'") from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["db"] = _decibels
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    text: str = template.render(
        title=title,
        data=data,
        report=data["report"],
        verdict=data["report"]["verdict"],
        layers=[{**layer, "plot": distribution_path(layer)} for layer in data["layers"]],
        blocks=list(blocks(data["nodes"])),
        lines=error_lines(data),
        width=WIDTH,
        height=HEIGHT,
        line_width=LINE_WIDTH,
        line_height=LINE_HEIGHT,
    )
    return text


def distribution_path(layer: Mapping[str, Any]) -> dict[str, Any] | None:
    """Bars of a tensor's values on a logarithmic scale, and where its range begins and ends, in units of the plot."""
    found, ends = layer["distribution"], layer["range"]
    if found is None:
        return None
    low, high = float(found["low"]), float(found["high"])
    if ends is not None:
        low, high = min(low, float(ends["low"])), max(high, float(ends["high"]))
    span = (high - low) or 1.0
    counts: Sequence[int] = found["counts"]
    step = (found["high"] - found["low"]) / len(counts)
    top = math.log1p(max(counts)) or 1.0

    def across(value: float) -> float:
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (value - low) / span, 1)

    bars = "".join(
        f"M{across(found['low'] + at * step)} {HEIGHT}V{round(HEIGHT * (1 - 0.9 * math.log1p(count) / top), 1)}"
        f"H{across(found['low'] + (at + 1) * step)}V{HEIGHT}Z"
        for at, count in enumerate(counts)
        if count
    )
    marks = [] if ends is None else [across(ends["low"]), across(ends["high"])]
    return {"bars": bars, "marks": marks}


def error_lines(data: Mapping[str, Any]) -> dict[str, str]:
    """Points of the errors along the network, through and alone; above 80 dB all lie at the top."""
    by_tensor = {layer["tensor"]: layer for layer in data["layers"] if not layer["constant"]}
    order = [by_tensor[node["tensor"]] for node in data["nodes"] if node["tensor"] in by_tensor]
    step = LINE_WIDTH / max(len(order) - 1, 1)

    def points(key: str) -> str:
        heights = (SHOWN_DECIBELS if each[key] is None else min(max(each[key], 0.0), SHOWN_DECIBELS) for each in order)
        return " ".join(
            f"{round(at * step, 1)},{round(LINE_HEIGHT * (1 - height / SHOWN_DECIBELS), 1)}"
            for at, height in enumerate(heights)
        )

    return {key: points(key) for key in ("through", "alone")} if len(order) > 1 else {}


def blocks(nodes: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Runs of nodes of one state, in the order in which they compute."""
    at = 0
    while at < len(nodes):
        end = at
        while end < len(nodes) and nodes[end]["state"] == nodes[at]["state"]:
            end += 1
        yield {"state": nodes[at]["state"], "nodes": nodes[at:end]}
        at = end


def _decibels(value: float | None) -> str:
    return "exact" if value is None else f"{value:.1f} dB"
