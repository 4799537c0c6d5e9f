"""quant_info.json: the fix position of every tensor, and the graph and the request that they belong to."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx import ModelProto

from ort_vitis_plugin.api import write_text

from .errors import MismatchError, StageError
from .slots import Slot, slotted

FILE = "quant_info.json"
VERSION = 1


@dataclass(frozen=True)
class QuantInfo:
    """What a calibration found. ``graph`` is the digest of the float graph, ``file`` that of the quantized one.

    ``positions`` is {"param" | "output" | "input": {tensor: [[bits, position]]}}; a zero point other than 0 follows
    the position; a scale that is no power of two is written as [bits, scale, zero point].
    """

    graph: str
    file: str
    request: Mapping[str, str]
    positions: Mapping[str, Mapping[str, list[list[Any]]]]
    fast_finetuned: bool = False
    bias_corrected: bool = False

    def save(self, folder: Path) -> Path:
        """Write ``quant_info.json`` into the folder; returns its path."""
        path = folder / FILE
        data = {
            **self.positions,
            "fast_finetuned": self.fast_finetuned,
            "bias_corrected": self.bias_corrected,
            "version": VERSION,
            "graph_digest": self.graph,
            "file_digest": self.file,
            "request": dict(self.request),
        }
        write_text(path, json.dumps(data, indent=1) + "\n")
        return path

    @classmethod
    def load(cls, folder: Path) -> QuantInfo:
        """What ``save`` wrote; raises StageError where there is none, MismatchError for another file of that name."""
        path = folder / FILE
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise StageError(
                f"there is no {path}: run with quant_mode='calib' first, and call export_quant_config()"
            ) from error
        except json.JSONDecodeError as error:
            raise MismatchError(f"{path} is no JSON: {error}; calibrate again") from error
        if not isinstance(data, dict) or data.get("version") != VERSION:
            raise MismatchError(f"{path} was not written by this version of ort_vitis_torch; calibrate again")
        positions = {key: data[key] for key in ("param", "output", "input")}
        flags = data["fast_finetuned"], data["bias_corrected"]
        return cls(data["graph_digest"], data["file_digest"], data["request"], positions, *flags)

    def check_graph(self, model: ModelProto, name: str) -> None:
        """Raise MismatchError unless this belongs to that float graph."""
        if digest(model) != self.graph:
            raise MismatchError(
                f"quant_info.json belongs to another graph or other weights than this {name}; load the weights that "
                "were calibrated and give input_args of the same structure, or calibrate again"
            )

    def check_request(self, request: Mapping[str, str]) -> None:
        """Raise MismatchError where the caller now asks for something else."""
        for key, value in request.items():
            if self.request.get(key) != value:
                raise MismatchError(
                    f"calibration ran with {key}={self.request.get(key)}, and now it is {value}; "
                    "give what was calibrated, or calibrate again"
                )


def digest(model: ModelProto) -> str:
    """SHA-256 of a model's operators, weights, inputs and outputs; who exported it does not count."""
    content = hashlib.sha256()
    graph = model.graph
    for message in (*model.opset_import, *graph.input, *graph.output, *graph.initializer):
        content.update(message.SerializeToString(deterministic=True))
    for node in graph.node:
        content.update(repr((node.op_type, node.domain, node.name, [*node.input], [*node.output])).encode())
        for attribute in node.attribute:
            content.update(attribute.SerializeToString(deterministic=True))
    return content.hexdigest()


def positions_of(written: ModelProto) -> dict[str, dict[str, list[list[Any]]]]:
    """The positions of a written model, as quant_info.json lists them."""
    found: dict[str, dict[str, list[list[Any]]]] = {"param": {}, "output": {}, "input": {}}
    inputs = {value.name for value in written.graph.input}
    for slot in slotted(written, {}).slots.values():
        for name in slot.tensors:
            group = "param" if slot.is_constant else "input" if name in inputs else "output"
            found[group][name] = [_entry(slot)]
    return found


def _entry(slot: Slot) -> list[Any]:
    bits = (slot.limits[1] - slot.limits[0]).bit_length()
    zero = slot.zero_point.tolist()
    if slot.scale.ndim or not slot.is_power_of_two:
        return [bits, slot.scale.tolist(), zero]
    return [bits, slot.position, zero] if zero else [bits, slot.position]
