"""Pictures made by the tests."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from ort_vitis_plugin import calibration_data

Image = pytest.importorskip("PIL.Image")


Build = Callable[[str], onnx.ModelProto]


Made = Callable[..., Path]


RGB = "t (float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) { y = Tanh(x) }"


LAST = "t (float[1, 8, 8, 3] x) => (float[1, 8, 8, 3] y) { y = Tanh(x) }"


PIXELS = "t (uint8[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) { y = Cast<to = 1>(x) }"


FREE = "t (float[N, 3, H, W] x) => (float[N, 3, H, W] y) { y = Tanh(x) }"


def pixels(height: int = 8, width: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def feeds(source: Any, model: onnx.ModelProto, **arguments: Any) -> list[np.ndarray]:
    return [feed["x"] for feed in calibration_data(source, **arguments).bound_to(model)]


def first(picture: Any) -> np.ndarray:
    return np.asarray(picture, np.float32)[:8, :8].transpose(2, 0, 1) / 128
