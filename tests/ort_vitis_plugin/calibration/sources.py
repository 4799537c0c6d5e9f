"""A small network, its samples from readers of every kind, and what plain observation sees of it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import ModelProto, parser
from onnxruntime.quantization import CalibrationDataReader

from ort_vitis_plugin.calibration.observe import NonFinite, observe

if TYPE_CHECKING:
    from collections.abc import Callable

    from ort_vitis_plugin.calibration import Calibration


TENSORS = ["x", "h", "r", "out", "w"]


def network() -> ModelProto:
    model = parser.parse_model(
        """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[N, 4] x) => (float[N, 3] out) <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5}>
        { h = MatMul(x, w)  r = Relu(h)  out = Sigmoid(r) }
        """
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def feed(index: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(index).standard_normal((3 + index % 2, 4)).astype(np.float32)}


class Reader(CalibrationDataReader):
    """One that can only be read from the start to the end."""

    def __init__(self, count: int) -> None:
        self.feeds = iter([feed(index) for index in range(count)])

    def get_next(self) -> dict[str, np.ndarray] | None:  # type: ignore[override]
        return next(self.feeds, None)


class Ranged(CalibrationDataReader):
    """One that can be read from the middle, as ORT's CalibStridedMinMax wants it."""

    def __init__(self, count: int, pause: float = 0.0) -> None:
        self.count, self.pause = count, pause
        self.set_range(0, count)

    def __len__(self) -> int:
        return self.count

    def set_range(self, start_index: int, end_index: int) -> None:
        self.at, self.end = start_index, end_index

    def get_next(self) -> dict[str, np.ndarray] | None:  # type: ignore[override]
        if self.at >= self.end:
            return None
        time.sleep(self.pause)
        self.at += 1
        return feed(self.at - 1)


class Indexed:
    """A data set with a length and an index, which raises no IndexError."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, at: int) -> dict[str, np.ndarray]:
        return feed(at)


SOURCES: dict[str, Callable[[int], Any]] = {
    "reader": Reader,
    "ranged": Ranged,
    "indexed": Indexed,
    "list": lambda count: [feed(index) for index in range(count)],
    "generator": lambda count: (feed(index) for index in range(count)),
}


def content(calibration: Calibration) -> tuple[dict[str, bytes], int, list[NonFinite]]:
    saved = {name: sketch.to_bytes() for name, sketch in calibration.sketches.items()}
    return saved, calibration.samples, calibration.non_finite


def expected(count: int) -> tuple[dict[str, bytes], int, list[NonFinite]]:
    seen = observe(network(), TENSORS, [feed(index) for index in range(count)])
    return {name: sketch.to_bytes() for name, sketch in seen.items()}, seen.samples, seen.non_finite


def spoiled(count: int) -> list[dict[str, np.ndarray]]:
    feeds = [feed(index) for index in range(count)]
    feeds[5]["x"][0, 0] = np.nan
    feeds[count - 1]["x"][1, 1] = np.inf
    return feeds
