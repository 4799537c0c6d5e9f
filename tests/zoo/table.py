"""The zoo's numbers as a Markdown table."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    Numbers = Mapping[str, Mapping[str, Any]]

OURS = (
    "NPU",
    "NPU, CLE",
    "NPU, CLE, no Clip6",
    "NPU, CLE, bias correction",
    "NPU, preset",
    "NPU, fine-tuned",
    "4 bits, fine-tuned",
    "NPU transformer",
    "CPU",
    "CPU per channel",
    "CPU per channel, bias correction",
)
PLAIN = {"ORT MinMax": "ort-minmax-u8", "ORT Percentile": "ort-percentile-u8"}
PEER = {"peer XINT8": "XINT8", "peer A8W8": "A8W8", "peer transformer": "INT8_TRANSFORMER_DEFAULT"}


def markdown(numbers: Numbers, peer: Numbers) -> str:
    """One row per network: float, ours (score, dB, seconds), onnxruntime's, the peer's."""
    keys = [key for key in OURS if any(key in entry for entry in numbers.values())]
    others = {**PLAIN, **(PEER if peer else {})}
    lines = ["| network | float | " + " | ".join((*keys, *others)) + " |", "|-|-|" + "-|" * (len(keys) + len(others))]
    for name, entry in numbers.items():
        cells = [name, _number(entry.get("float"))]
        cells += [_ours(entry.get(key)) for key in keys]
        for label, key in others.items():
            cells.append(_score(entry.get(label) or peer.get(name, {}).get(key)))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-"


def _score(cell: Any) -> str:
    if not cell:
        return "-"
    return _number(cell["score"]) if "score" in cell else "fails"


def _ours(cell: Any) -> str:
    if not cell or "score" not in cell:
        return _score(cell)
    decibels = [value for value in cell["sqnr"].values() if value is not None]
    worst = f"{min(decibels):.0f} dB" if decibels else "exact"
    return f"{cell['score']:.4f} ({worst}, {cell['seconds']:.0f} s)"
