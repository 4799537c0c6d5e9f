"""VitisAIExecutionProvider writes down which nodes it gave to which device: ``vitisai_ep_report.json`` in its cache.

``deviceStat`` is a list of {name: "all", "CPU", "DPU" or "NPU" ..., nodeNum, supportedOpType: ["::Conv", ...]}
(AMD's Ryzen AI manual, "Model Operators Assignment Report").
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, UnsupportedError

if TYPE_CHECKING:
    from .placement_forecast import Placement

PROVIDER = "VitisAIExecutionProvider"
FILE = "vitisai_ep_report.json"
ALL, CPU = "all", "CPU"


@dataclass(frozen=True)
class DeviceReport:
    """Nodes and op types by device, as the provider counts them: the nodes of the quantized file, pairs included."""

    nodes: Mapping[str, int]
    op_types: Mapping[str, frozenset[str]]

    @property
    def total(self) -> int:
        """All nodes."""
        return self.nodes.get(ALL, sum(self.nodes.values()))

    @property
    def on_device(self) -> int:
        """Nodes on whatever is no CPU."""
        return sum(count for name, count in self.nodes.items() if name != ALL and not name.endswith(CPU))

    @property
    def taken(self) -> frozenset[str]:
        """Op types of which the device took nodes."""
        return frozenset().union(
            *(ops for name, ops in self.op_types.items() if name != ALL and not name.endswith(CPU))
        )

    @property
    def left(self) -> frozenset[str]:
        """Op types of which nodes stayed on the CPU."""
        return frozenset().union(*(ops for name, ops in self.op_types.items() if name.endswith(CPU)))

    def against(self, forecast: list[Placement]) -> list[tuple[str, str]]:
        """(op type, what is different) where the provider placed an op type otherwise than the forecast."""
        hoped = {entry.op_type for entry in forecast if entry.reason is None}
        feared = {entry.op_type for entry in forecast if entry.reason is not None}
        found = [
            (op, "forecast for the device, left on the CPU") for op in sorted(hoped - self.taken) if op in self.left
        ]
        found += [(op, "not forecast for the device, taken by it") for op in sorted((feared - hoped) & self.taken)]
        return found


def read_report(path: str | Path) -> DeviceReport:
    """The provider's report.

    Raises:
        ModelError: the file cannot be read, or is no such report.
    """
    try:
        stated = json.loads(Path(path).read_text(encoding="utf-8"))["deviceStat"]
        nodes = {str(entry["name"]): int(entry["nodeNum"]) for entry in stated}
        ops = {
            str(entry["name"]): frozenset(str(op).rpartition("::")[2] for op in entry.get("supportedOpType", ()))
            for entry in stated
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{str(path)!r} is no report of {PROVIDER} ({FILE}): {error!r}") from error
    return DeviceReport(nodes, ops)


def compile_and_run(
    model: str | Path, cache: str | Path, options: Mapping[str, str], feed: Mapping[str, Any] | None = None
) -> Path:
    """Compile the model for the device, run a sample, and give the report that the provider wrote.

    Raises:
        UnsupportedError: this onnxruntime has no such provider, or it wrote no report.
    """
    import onnxruntime as ort

    if PROVIDER not in ort.get_available_providers():
        raise UnsupportedError(
            f"this onnxruntime has no {PROVIDER}; run this where AMD's Ryzen AI software is installed, "
            f"or give the report that it wrote there: --report {FILE}"
        )
    os.environ.setdefault("XLNX_ONNX_EP_REPORT_FILE", FILE)
    folder = Path(cache).resolve()
    given = {"cache_dir": str(folder), "cache_key": Path(model).stem, "enable_cache_file_io_in_mem": "0", **options}
    session = ort.InferenceSession(str(model), providers=[(PROVIDER, given), "CPUExecutionProvider"])
    if feed is not None:
        session.run(None, dict(feed))
    found = sorted(folder.rglob(FILE), key=lambda file: file.stat().st_mtime)
    if not found:
        raise UnsupportedError(f"{PROVIDER} wrote no {FILE} below {str(folder)!r}")
    return found[-1]
