"""Every declared option and argument with 47 values, most of them of a wrong type."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import decimal
import fractions
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime.quantization as upstream

import ort_vitis_plugin as vitis
from ort_vitis_plugin.plugin.catalog import shared_catalog

from .attack import Attack
from .models import conv
from .samples import ROWS


class _Broken:
    """Whatever is asked of it raises."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __repr__(self) -> str:
        return "_Broken()"


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 10**20, -(10**20), 0.0, 1.5, -2.5, float("nan"), float("inf"), 1e308),
    *("", "x", "true", "é\udc80", "\0", "a" * 5000, b"bytes", "ipu_cnn", "cpu", "plain"),
    *([], [1], ["x"], [None], [[1, 2]], (), (0, 1), {}, {"x": 1}, {1: 2}, {"x": (0, 1)}, {"x": [1, 3, 6, 6]}),
    *(set(), {1}, object(), int, len, np.zeros(3), np.float32(1.5), decimal.Decimal("1.5"), fractions.Fraction(1, 3)),
)
ARGUMENTS = (
    "quant_format",
    "calibrate_method",
    "input_nodes",
    "output_nodes",
    "op_types_to_quantize",
    "random_data_reader_input_shape",
    "per_channel",
    "activation_type",
    "weight_type",
    "nodes_to_quantize",
    "nodes_to_exclude",
    "optimize_model",
    "use_external_data_format",
    "execution_providers",
    "enable_dpu",
    "include_cle",
    "extra_options",
    "calibration",
    "calibration_cache_path",
    "calibration_data_reader",
    "model_input",
    "model_output",
)


def in_turn(number: int) -> tuple[str, Any]:
    """The number-th of all pairs of an option or argument and a value; neighbours differ in both."""
    names = [*ARGUMENTS, *sorted(shared_catalog().options)]
    return names[number % len(names)], VALUES[(number // len(names) + number) % len(VALUES)]


def pairs() -> int:
    """How many there are."""
    return (len(ARGUMENTS) + len(shared_catalog().options)) * len(VALUES)


def attack(rng: np.random.Generator, folder: Path, number: int) -> Attack:
    """A call with one odd value, at either door, alone or beside other options."""
    name, value = in_turn(number)
    value = value if rng.integers(40) or number < pairs() else _Broken()
    arguments: dict[str, Any] = {
        "model_input": conv(),
        "model_output": str(folder / "out.onnx"),
        "calibration_data_reader": [{"x": row[None]} for row in ROWS[:1]],
    }
    if name in ARGUMENTS:
        if name == "model_output" and isinstance(value, str) and not value.startswith("/"):
            value = f"{folder}/{value}"
        arguments[name] = value
        return Attack(f"{name}={value!r:.60}", lambda: vitis.quantize_static(**arguments))
    if name.startswith("CalibrationCache") and isinstance(value, str):
        value = f"{folder}/{value}"
    options = {name: value} if rng.integers(4) else {"IncludeCLE": True, "Target": "ipu_cnn", name: value}
    if rng.integers(4):
        return Attack(f"{options!r:.80}", lambda: vitis.quantize_static(**arguments, extra_options=options))
    options.setdefault("Target", "cpu")
    return Attack(
        f"onnxruntime's door, {options!r:.80}", lambda: upstream.quantize_static(**arguments, extra_options=options)
    )
