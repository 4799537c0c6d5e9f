"""Latency of an NPU model's evaluation twin beside the model, float, and an int8 model for the CPU, in one process.

    python tests/benchmarks/bench_twin.py                         a network of inverted residuals, random weights
    python tests/benchmarks/bench_twin.py --model net.onnx        yours, with random inputs

One thread, the best of interleaved rounds. The twin takes at most 1.2 times as long as the int8 model for the CPU, on a
CPU with VNNI, and gives the bits of the NPU model without optimization. Exits with 1 where either does not hold.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

import ort_vitis_plugin  # noqa: E402
from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat  # noqa: E402
from ort_vitis_plugin.convert.integer_kernels import cpu_saturates  # noqa: E402
from ort_vitis_plugin.testing import random_feeds  # noqa: E402
from tests.models.networks import FeedReader  # noqa: E402

LIMIT = 1.2
SAMPLES = 4
Feed = dict[str, NDArray[np.float32]]


def inverted_residuals(channels: int = 24, blocks: int = 8, side: int = 56) -> ModelProto:
    """Expansion by 6, depthwise 3 x 3, projection, with ReLU6 and residual Adds, as mobile networks have them."""
    generator = np.random.default_rng(0)
    constants: dict[str, NDArray[np.float32]] = {"zero": np.array(0, np.float32), "six": np.array(6, np.float32)}
    nodes = []

    def conv(x: str, y: str, shape: tuple[int, ...], clamp: bool, **attributes: Any) -> None:
        deviation = (2 / np.prod(shape[1:])) ** 0.5
        constants[f"{y}_w"] = np.asarray(generator.standard_normal(shape) * deviation, np.float32)
        constants[f"{y}_b"] = np.asarray(generator.standard_normal(shape[0]) * 0.1, np.float32)
        end = f"{y}_sum" if clamp else y
        nodes.append(helper.make_node("Conv", [x, f"{y}_w", f"{y}_b"], [end], f"Conv_{y}", **attributes))
        if clamp:
            nodes.append(helper.make_node("Clip", [end, "zero", "six"], [y], f"Clip_{y}"))

    wide, x = 6 * channels, "stem"
    conv("image", "stem", (channels, 3, 3, 3), True, pads=[1] * 4, strides=[2, 2])
    for number in range(blocks):
        conv(x, f"expand{number}", (wide, channels, 1, 1), True)
        conv(f"expand{number}", f"depth{number}", (wide, 1, 3, 3), True, pads=[1] * 4, group=wide)
        conv(f"depth{number}", f"project{number}", (channels, wide, 1, 1), False)
        nodes.append(helper.make_node("Add", [x, f"project{number}"], [f"block{number}"], f"Add_{number}"))
        x = f"block{number}"
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["mean"], "Mean"))
    nodes.append(helper.make_node("Flatten", ["mean"], ["y"], "Flatten"))
    ends = (("image", [1, 3, 2 * side, 2 * side]), ("y", [1, channels]))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ends]
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "inverted_residuals", values[:1], values[1:], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def session(model: ModelProto, options: SessionOptions | None = None, *, plain: bool = False) -> InferenceSession:
    """A session on one thread; ``plain`` computes the nodes as they are written."""
    options = options or SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if plain:
        options.graph_optimization_level = GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def best(sessions: dict[str, InferenceSession], feed: Feed, rounds: int) -> dict[str, float]:
    """Milliseconds of each, the best of rounds that take turns."""
    times = {name: float("inf") for name in sessions}
    for _ in range(rounds):
        for name, each in sessions.items():
            start = time.perf_counter()
            each.run(None, feed)
            times[name] = min(times[name], 1e3 * (time.perf_counter() - start))
    return times


def measure(
    name: str, model: ModelProto, float_model: ModelProto, cpu: ModelProto, feeds: list[Feed], rounds: int
) -> bool:
    """Print a row; whether the twin is equal and fast."""
    twin = ort_vitis_plugin.evaluation_twin(model)
    plain, fast = session(model, plain=True), session(twin.model, twin.session_options())
    equal = all(
        np.array_equal(wanted, found)
        for feed in feeds
        for wanted, found in zip(plain.run(None, feed), fast.run(None, feed), strict=True)
    )
    sessions = {"float": session(float_model), "NPU file": session(model), "twin": fast, "CPU int8": session(cpu)}
    times = best(sessions, feeds[0], rounds)
    ratio = times["twin"] / times["CPU int8"]
    row = ", ".join(f"{key} {value:.2f}" for key, value in times.items())
    print(f"{name}: {row} ms; twin / CPU int8 {ratio:.2f}; {'equal' if equal else 'NOT EQUAL'}; {len(twin.kept)} kept")
    return equal and (ratio <= LIMIT or cpu_saturates())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a float model")
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    model = onnx.load(arguments.model) if arguments.model else inverted_residuals()
    feeds = [random_feeds(model, seed) for seed in range(SAMPLES)]
    types = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}

    def quantized(**settings: object) -> ModelProto:
        return ort_vitis_plugin.quantize_static(model, None, FeedReader(feeds), **{**types, **settings}).model

    cpu = quantized(
        quant_format=QuantFormat.QDQ, calibrate_method=CalibrationMethod.MinMax, extra_options={"Target": "cpu"}
    )
    npu = {"calibrate_method": PowerOfTwoMethod.NonOverflow, "enable_dpu": True}
    rows = {
        "QDQ": quantized(quant_format=QuantFormat.QDQ, **npu),
        "Vitis QDQ": quantized(quant_format=VitisQuantFormat.QDQ, **npu),
        "FixNeuron": quantized(quant_format=VitisQuantFormat.FixNeuron, activation_type=QuantType.QInt8, **npu),
    }
    print(f"8-bit kernels of this CPU {'saturate (no VNNI)' if cpu_saturates() else 'are exact'}")
    fine = [measure(name, row, model, cpu, feeds, arguments.rounds) for name, row in rows.items()]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
