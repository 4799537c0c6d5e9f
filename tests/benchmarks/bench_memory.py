"""Peak memory of a whole call over the size of the model: python tests/benchmarks/bench_memory.py [--size 400]

A chain of square MatMuls of ``--size`` MiB, from a file to a file, in a process of its own for each configuration.
Prints the peak of resident memory beyond that of a process that imported everything and quantized a small model, as a
multiple of the model; at most 3. Exits with 1 where it is more (Linux).
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

import ort_vitis_plugin as vitis  # noqa: E402

LIMIT = 3.0
SIDE = 1448  # a weight of 8 MiB
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "NPU": {"enable_dpu": True, "activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8},
    "CPU, per channel": {
        "calibrate_method": CalibrationMethod.MinMax,
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
        "per_channel": True,
    },
    "Vitis QDQ, int16": {
        "quant_format": vitis.VitisQuantFormat.QDQ,
        "activation_type": vitis.VitisQuantType.QInt16,
        "weight_type": vitis.VitisQuantType.QInt16,
    },
    "Vitis QDQ, bfloat16": {
        "quant_format": vitis.VitisQuantFormat.QDQ,
        "calibrate_method": CalibrationMethod.MinMax,
        "activation_type": vitis.VitisQuantType.QBFloat16,
        "weight_type": vitis.VitisQuantType.QBFloat16,
    },
    "FixNeuron, external data": {
        "quant_format": vitis.VitisQuantFormat.FixNeuron,
        "use_external_data_format": True,
    },
    "QOperator": {
        "quant_format": QuantFormat.QOperator,
        "calibrate_method": CalibrationMethod.MinMax,
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
    },
    "transformer": {
        "calibrate_method": CalibrationMethod.MinMax,
        "extra_options": {"Target": "ipu_transformer"},
    },
    "NPU, CLE and bias correction": {
        "enable_dpu": True,
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
        "include_cle": True,
        "extra_options": {"BiasCorrection": True},
    },
}


def chain(length: int, side: int) -> onnx.ModelProto:
    """``length`` MatMuls, each behind a Relu."""
    random = np.random.default_rng(0)
    nodes, constants, tensor = [], [], "x"
    for number in range(length):
        weight = random.standard_normal((side, side), np.float32) * np.float32(1.4 / side**0.5)
        constants.append(numpy_helper.from_array(weight, f"w{number}"))
        nodes += [
            helper.make_node("MatMul", [tensor, f"w{number}"], [f"m{number}"], name=f"matmul{number}"),
            helper.make_node("Relu", [f"m{number}"], [f"r{number}"], name=f"relu{number}"),
        ]
        tensor = f"r{number}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, side]) for name in ("x", tensor)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def resident(key: str) -> int:
    """KiB of VmRSS or VmHWM."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(key)))


def child(folder: Path, configuration: str) -> None:
    """Print the KiB that a call needs beyond what stays after a small one."""
    logging.disable(logging.WARNING)

    def quantize(name: str, side: int) -> None:
        feeds = [{"x": np.random.default_rng(seed).standard_normal((1, side), np.float32)} for seed in range(4)]
        source, target = folder / f"{name}.onnx", folder / f"{name}.quantized.onnx"
        vitis.quantize_static(str(source), str(target), feeds, print_summary=False, **CONFIGURATIONS[configuration])

    quantize("small", 32)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = resident("VmRSS")
    quantize("large", SIDE)
    print(resident("VmHWM") - before)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=400, help="MiB of weights")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(Path(arguments.child[0]), arguments.child[1])
        return 0
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(chain(2, 32), f"{folder}/small.onnx")
        onnx.save(chain(arguments.size // 8, SIDE), f"{folder}/large.onnx")
        size = Path(folder, "large.onnx").stat().st_size / 2**20
        for name in CONFIGURATIONS:
            command = [sys.executable, __file__, "--child", folder, name]
            peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024
            missed += peak / size > LIMIT
            print(f"{name}: model {size:.0f} MiB, peak {peak:.0f} MiB, {peak / size:.2f} times (limit {LIMIT:g})")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
