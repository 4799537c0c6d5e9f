"""A quantized file is a function of model, samples, arguments and the door that the call goes through."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import onnx
from onnx import ModelProto
from onnxruntime import quantization
from onnxruntime.quantization import CalibrationDataReader, StaticQuantConfig

import ort_vitis_plugin

Feed = dict[str, Any]
Arguments = dict[str, Any]
Door = Callable[[Path, Path, "list[Feed] | None", Arguments], None]


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """Yields the given feeds; `rewind` starts again."""

    def __init__(self, feeds: Iterable[Feed]) -> None:
        self._feeds = list(feeds)
        self.rewind()

    def __len__(self) -> int:
        return len(self._feeds)

    def rewind(self) -> None:
        """Start again."""
        self._rest = iter(self._feeds)

    def get_next(self) -> Feed | None:
        """The next feed; None at the end."""
        return next(self._rest, None)


def _reader(feeds: list[Feed] | None) -> Reader | None:
    return None if feeds is None else Reader(feeds)


def ours(source: Path, target: Path, feeds: list[Feed] | None, arguments: Arguments) -> None:
    """`ort_vitis_plugin.quantize_static`."""
    ort_vitis_plugin.quantize_static(source, target, _reader(feeds), **arguments)


def ours_from_proto(source: Path, target: Path, feeds: list[Feed] | None, arguments: Arguments) -> None:
    """`ort_vitis_plugin.quantize_static` of a ModelProto, which writes no file."""
    onnx.save(ort_vitis_plugin.quantize_static(onnx.load(source), None, _reader(feeds), **arguments).model, target)


def ours_calibrated_before(source: Path, target: Path, feeds: list[Feed] | None, arguments: Arguments) -> None:
    """`ort_vitis_plugin.calibrate`, and `quantize_static` with what it returned."""
    calibration = ort_vitis_plugin.calibrate(source, _reader(feeds), **arguments)
    ort_vitis_plugin.quantize_static(source, target, calibration=calibration, **arguments)


def onnxruntimes(source: Path, target: Path, feeds: list[Feed] | None, arguments: Arguments) -> None:
    """`onnxruntime.quantization.quantize_static`: plain, unless the arguments ask for something of ours."""
    quantization.quantize_static(source, target, _reader(feeds), **arguments)


def onnxruntimes_config(source: Path, target: Path, feeds: list[Feed] | None, arguments: Arguments) -> None:
    """`onnxruntime.quantization.quantize` with a StaticQuantConfig."""
    quantization.quantize(source, target, StaticQuantConfig(_reader(feeds), **arguments))


def onnxruntimes_dynamic(source: Path, target: Path, feeds: list[Feed] | None, arguments: Arguments) -> None:
    """`onnxruntime.quantization.quantize_dynamic`, which takes no samples."""
    quantization.quantize_dynamic(source, target, **arguments)


def ours_then(verb: str) -> Door:
    """`ort_vitis_plugin.quantize_static`, and `ort-vitis VERB` on its file."""

    def convert(source: Path, target: Path, feeds: list[Feed] | None, arguments: Arguments) -> None:
        quantized = target.with_name("before.onnx")
        ours(source, quantized, feeds, arguments)
        with mock.patch.object(sys, "argv", ["ort-vitis", verb, str(quantized), "-o", str(target)]):
            try:
                runpy.run_module("ort_vitis_plugin", run_name="__main__")
            except SystemExit as end:
                if end.code:
                    raise RuntimeError(f"ort-vitis {verb} ends with {end.code}") from end

    return convert


@dataclass(frozen=True)
class Case:
    """One call: ``key`` names its digest; ``model`` and ``feeds`` are made when it runs; no feeds: random ones."""

    key: str
    model: Callable[[], ModelProto]
    feeds: Callable[[ModelProto], list[Feed] | None]
    arguments: Arguments = field(default_factory=dict)
    door: Door = ours

    def run(self, folder: Path) -> Path:
        """Quantize in ``folder``, where onnxruntime leaves files too; the path of the quantized file."""
        model = self.model()
        source, target = folder / "model.onnx", folder / "quantized.onnx"
        onnx.save(model, source)
        self.door(source, target, self.feeds(model), self.arguments)
        return target
