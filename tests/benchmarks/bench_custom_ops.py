"""Custom ops against onnxruntime's own, in one run: python tests/benchmarks/bench_custom_ops.py [--quick]

What is compared takes turns, so that a busy machine slows all of it; figures are medians of 15 turns (5 with --quick).
``--peer LIBRARY`` times the block ops of another library with the names of ``com.amd.quark`` beside ours (a file as
``quark.onnx.get_library_path()`` names it, in an environment of its own). Prints nanoseconds an element and the ratios
that must hold; exits with 1 if one does not.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from ort_vitis_block import BLOCK_TYPES
from ort_vitis_plugin import custom_ops

VAI, QUARK = custom_ops.VAI_DOMAIN, custom_ops.QUARK_DOMAIN
SHAPES = {"1x64x112x112": (1, 64, 112, 112), "8M elements": (8, 1024, 1024)}
Run = Callable[[], object]
Clock = Callable[[], float]


def session(
    nodes: list[Any], into: Any, out: Any, zero: Any, shape: tuple[int, ...], threads: int, library: str | None = None
) -> Run:
    """One call of a graph x -> y with input and output bound to memory that stays; our library unless one is named."""
    kinds = [helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for dtype in (into, out)]
    graph = helper.make_graph(
        nodes,
        "bench",
        [helper.make_tensor_value_info("x", kinds[0], shape)],
        [helper.make_tensor_value_info("y", kinds[1], shape)],
        [
            # A Cast has no scale: the 16-bit floats are compared at 1, as models have it.
            helper.make_tensor("s", TensorProto.FLOAT, [], [0.1 if zero.dtype.kind == "i" else 1.0]),
            helper.make_tensor("z", helper.np_dtype_to_tensor_dtype(zero.dtype), [], zero.tobytes(), raw=True),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.register_custom_ops_library(library or custom_ops.get_library_path())
    # A Q and DQ pair alone would be fused away.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    made = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def value(dtype: Any) -> ort.OrtValue:
        dtype = np.dtype(dtype)
        if dtype.kind == "f" and dtype.itemsize == 4:
            data = np.random.default_rng(0).standard_normal(shape).astype(np.float32) * 4
        else:
            data = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
        if dtype == ml_dtypes.bfloat16:
            return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(data.view(np.uint16), TensorProto.BFLOAT16)
        return ort.OrtValue.ortvalue_from_numpy(data)

    binding = made.io_binding()
    binding.bind_ortvalue_input("x", value(into))
    binding.bind_ortvalue_output("y", value(out))
    return lambda: made.run_with_iobinding(binding)


def copy(into: Any, out: Any, shape: tuple[int, ...]) -> Run:
    """memcpy of as many bytes as a node reads and writes."""
    size = int(np.prod(shape)) * (np.dtype(into).itemsize + np.dtype(out).itemsize) // 2
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)
    return lambda: np.copyto(target, source)


def ours(op_type: str, **attributes: Any) -> Any:
    return helper.make_node(op_type, ["x", "s", "z"], ["y"], domain=VAI, **attributes)


def subjects(shape: tuple[int, ...], threads: int, peer: str | None) -> Iterator[tuple[str, dict[str, Run]]]:
    """What is timed together: our op, onnxruntime's op, and memcpy of the same bytes."""
    for dtype in (np.int8, np.int16, np.float16, ml_dtypes.bfloat16):
        name, zero = np.dtype(dtype).name, np.zeros((), dtype)
        half = np.dtype(dtype).kind != "i"
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        cast_down = helper.make_node("Cast", ["x"], ["y"], to=kind)
        cast_up = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
        native_q = cast_down if half else helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
        native_dq = cast_up if half else helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"])
        for step, own, native, into, out in (
            ("Q", ours("VitisQuantizeLinear"), native_q, np.float32, dtype),
            ("DQ", ours("VitisDequantizeLinear"), native_dq, dtype, np.float32),
        ):
            runs = {
                "ours": session([own], into, out, zero, shape, threads),
                "native": session([native], into, out, zero, shape, threads),
            }
            if threads == 1:
                runs["memcpy"] = copy(into, out, shape)
            yield f"{step} {name}", runs
    pair = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    zero = np.zeros((), np.int8)
    own = ours("FixNeuron", bit_width=8)
    runs = {
        "ours": session([own], np.float32, np.float32, zero, shape, threads),
        "native": session(pair, np.float32, np.float32, zero, shape, threads),
    }
    yield "FixNeuron", runs
    if threads == 1 and shape == SHAPES["8M elements"]:
        for name, own, theirs in block_ops():
            runs = {
                "ours": session([own], np.float32, np.float32, zero, shape, threads),
                "memcpy": copy(np.float32, np.float32, shape),
            }
            if peer is not None:
                runs["peer"] = session([theirs], np.float32, np.float32, zero, shape, threads, peer)
            yield name, runs


def block_ops() -> Iterator[tuple[str, Any, Any]]:
    """Blocks of neighbours, and of elements that lie apart: the node by our name, and by that of AMD Quark."""
    for where, axis in (("last", -1), ("axis 1", 1)):
        for name in ("QBFP16", "QMXINT8"):
            kind: Any = BLOCK_TYPES[name]
            own, theirs = (
                helper.make_node(kind.op_type(domain), ["x"], ["y"], domain=domain, **kind.attributes(axis))
                for domain in (VAI, QUARK)
            )
            yield f"{name[1:]} {where}", own, theirs


# Subject: the largest allowed ratio to its native and to its memcpy partner.
GOALS: dict[str, dict[str, float]] = {
    "Q int8": {"native": 1.2, "memcpy": 1.5},
    "DQ int8": {"native": 1.2, "memcpy": 1.5},
    "Q int16": {"native": 1.2, "memcpy": 1.5},
    "DQ int16": {"native": 1.2, "memcpy": 1.5},
    "Q float16": {"memcpy": 1.5},
    "DQ float16": {"memcpy": 1.5},
    "Q bfloat16": {"native": 0.6, "memcpy": 1.5},
    "DQ bfloat16": {"memcpy": 1.5},
    "FixNeuron": {"native": 0.9},
    "BFP16 last": {"memcpy": 1.5},
    "MXINT8 last": {"memcpy": 1.5},
    "BFP16 axis 1": {"memcpy": 1.5},
    "MXINT8 axis 1": {"memcpy": 1.5},
}


def medians(runs: dict[str, Run], turns: int, calls: int, clock: Clock) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds a call, and ours against each other one: medians over turns, in each of which all run in a row."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(turns + 1):
        for name, run in runs.items():
            start = clock()
            for _ in range(calls):
                run()
            if turn:  # the first turn warms up
                times[name].append((clock() - start) / calls)
    ratios = {name: float(np.median(np.divide(times["ours"], times[name]))) for name in runs if name != "ours"}
    return {name: float(np.median(values)) for name, values in times.items()}, ratios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5 turns instead of 15")
    parser.add_argument("--peer", metavar="LIBRARY", help="another library with the block ops of com.amd.quark")
    arguments = parser.parse_args()
    turns = 5 if arguments.quick else 15
    missed = 0
    for label, shape in SHAPES.items():
        size = int(np.prod(shape))
        for threads in (1, 2):
            # One thread: processor time, which other programs do not lengthen. Two: there is only the wall clock.
            clock: Clock = time.thread_time if threads == 1 else time.perf_counter
            print(f"\n{label}, {threads} thread(s): ns/element, ratio (goal)")
            for name, runs in subjects(shape, threads, arguments.peer):
                found, ratios = medians(runs, turns, max(1, 4_000_000 // size), clock)
                text = f"  {name:13} {found['ours'] / size * 1e9:6.3f}"
                for partner, ratio in ratios.items():
                    goal = GOALS[name].get(partner)
                    text += f"   {partner} {found[partner] / size * 1e9:6.3f} {ratio:5.2f}"
                    text += f" (<= {goal})" if goal else ""
                    if goal and ratio > goal:
                        missed += 1
                        text += " MISSED"
                print(text, flush=True)
    print(f"\n{missed} goals missed" if missed else "\nall goals held")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
