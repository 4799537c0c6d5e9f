"""A network, its samples, and calls of ours and of onnxruntime that write or read its file of ranges."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime.quantization as ort_quantization
import pytest
from onnx import ModelProto, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.entry.attach import original
from ort_vitis_plugin.testing import graph, random_feeds

Feeds = list[dict[str, np.ndarray]]

METHODS = list(CalibrationMethod)
TYPES = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
HAS_ARGUMENT = "calibration_cache_path" in inspect.signature(ort_quantization.quantize_static).parameters
newest = pytest.mark.skipif(not HAS_ARGUMENT, reason="this onnxruntime has no calibration_cache_path")


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32)


def network() -> ModelProto:
    """Nothing in it folds or fuses away, so onnxruntime and this package name the same tensors."""
    return graph(
        """t (float[1, 3, 8, 8] x) => (float[1, 10] y) {
            [c1] h = Conv<pads = [1, 1, 1, 1]>(x, w, b)
            [r1] r = Relu(h)
            [s1] s = Sigmoid(r)
            [f1] f = Flatten(s)
            [g1] g = MatMul(f, v)
            [r2] y = Relu(g)
        }""",
        constants={"w": normal(1, 4, 3, 3, 3), "b": normal(2, 4), "v": normal(3, 256, 10)},
    )


def feeds(count: int = 5) -> Feeds:
    return [random_feeds(network(), seed) for seed in range(count)]


class Reader(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, samples: Feeds) -> None:
        self.rest = iter(samples)

    def get_next(self) -> Any:
        return next(self.rest, None)


def ours(path: Path | str, reader: Any = None, model: ModelProto | None = None, **arguments: Any) -> ModelProto:
    arguments = {**TYPES, "calibrate_method": CalibrationMethod.MinMax, **arguments}
    source = network() if model is None else model
    return quantize_static(source, None, reader, calibration_cache_path=path, **arguments).model


def theirs(folder: Path, path: Path, reader: Any = None, **arguments: Any) -> ModelProto:
    """onnxruntime's own function on a file, untouched."""
    onnx.save(network(), str(folder / "float.onnx"))
    plain = original(ort_quantization.quantize_static)
    plain(folder / "float.onnx", folder / "q.onnx", reader, calibration_cache_path=path, **{**TYPES, **arguments})
    return onnx.load(str(folder / "q.onnx"))


def content(model: ModelProto) -> bytes:
    return model.SerializeToString(deterministic=True)


def scales(model: ModelProto) -> dict[str, float]:
    """By float tensor."""
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {
        node.input[0]: float(known[node.input[1]])
        for node in model.graph.node
        if node.op_type == "QuantizeLinear" and node.input[0] not in known
    }


def limits(path: Path) -> dict[str, tuple[float, float]]:
    """As onnxruntime's documentation of the format says, without any of our code."""

    def number(stored: Any) -> float:
        return float(np.ravel(stored["data"] if isinstance(stored, dict) else stored)[0])

    data = json.loads(path.read_text())["data"]
    return {name: (number(entry["lowest"]), number(entry["highest"])) for name, entry in data.items()}
