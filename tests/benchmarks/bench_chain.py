"""Time of the whole call grows linearly with nodes: a chain of N Conv+Relu of 4 channels, in one process.

    python tests/benchmarks/bench_chain.py            N = 200 and 800, and onnxruntime's own MinMax call at 800

Prints CPU seconds (user and system, of this process) and the ratios that matter: ours(800) / ours(200), at most 5, and
ours(800) / onnxruntime(800), below 1. Exits with 1 where a ratio is above its limit.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

import ort_vitis_plugin  # noqa: E402

CHANNELS, SIDE = 4, 8
LINEAR, AGAINST_ORT = 5.0, 1.0


class OneSample(CalibrationDataReader):  # type: ignore[misc]
    """One N(0, 1) image."""

    def __init__(self) -> None:
        image = np.random.default_rng(1).standard_normal((1, CHANNELS, SIDE, SIDE)).astype(np.float32)
        self._rest: Iterator[dict[str, np.ndarray]] = iter([{"x": image}])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._rest, None)


def chain(length: int) -> ModelProto:
    """``length`` Conv+Relu pairs, one behind the other."""
    random = np.random.default_rng(0)
    nodes, constants, tensor = [], [], "x"
    for number in range(length):
        weight = random.standard_normal((CHANNELS, CHANNELS, 1, 1)) * 0.7
        constants += [
            numpy_helper.from_array(weight.astype(np.float32), f"w{number}"),
            numpy_helper.from_array((random.standard_normal(CHANNELS) * 0.1).astype(np.float32), f"b{number}"),
        ]
        nodes += [
            helper.make_node("Conv", [tensor, f"w{number}", f"b{number}"], [f"c{number}"], name=f"conv{number}"),
            helper.make_node("Relu", [f"c{number}"], [f"r{number}"], name=f"relu{number}"),
        ]
        tensor = f"r{number}"
    image = [1, CHANNELS, SIDE, SIDE]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)],
        [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, image)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def ours(model: ModelProto) -> None:
    """The recommended NPU configuration."""
    ort_vitis_plugin.quantize_static(
        model,
        None,
        OneSample(),
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        enable_dpu=True,
        extra_options={"ActivationSymmetric": True},
    )


def main() -> int:
    logging.disable(logging.WARNING)
    ours(chain(20))
    short, long = (seconds(lambda length=length: ours(chain(length))) for length in (200, 800))
    with tempfile.TemporaryDirectory() as folder:
        source, target = str(Path(folder) / "chain.onnx"), str(Path(folder) / "quantized.onnx")
        onnx.save(chain(800), source)
        theirs = seconds(lambda: quantize_static(source, target, OneSample()))
    print(f"ours: 200 pairs {short:.2f} s, 800 pairs {long:.2f} s, ratio {long / short:.2f} (limit {LINEAR:g})")
    print(f"onnxruntime, MinMax: 800 pairs {theirs:.2f} s; ours / theirs {long / theirs:.2f} (limit {AGAINST_ORT:g})")
    return int(long / short > LINEAR or long / theirs > AGAINST_ORT)


if __name__ == "__main__":
    raise SystemExit(main())
