"""What fine-tuning gives back on the small networks: python tests/benchmarks/bench_finetune.py [--samples 48]

Every network in the manual's NPU configuration, with weights of 8 and of 4 bits (a power-of-two step of least squared
error, A8W4): accuracy on 500 digits and SQNR of the logits, as quantized, with sequential bias correction alone, and
with Hessian rounding; seconds of each. Exits with 1 where fine-tuning costs more than 0.3 % of the digits.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import numpy_helper
from onnxruntime import GraphOptimizationLevel

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

from ort_vitis_finetune import (  # noqa: E402
    HESSIAN,
    ONLY_BIAS,
    Finetuned,
    FinetuneSettings,
    Grid,
    Simulation,
    finetune,
    simulation_of,
)
from ort_vitis_plugin import custom_ops, quantize_static  # noqa: E402
from ort_vitis_plugin.api import Graph  # noqa: E402
from ort_vitis_plugin.entry.quantize_static import prepared  # noqa: E402
from ort_vitis_plugin.onnx_io.sessions import open_session  # noqa: E402
from tests.models import networks  # noqa: E402
from tests.zoo.configurations import CONFIGURATIONS  # noqa: E402

if TYPE_CHECKING:
    import onnxruntime as ort
    from onnx import ModelProto

LOST = 0.003


def session(model: ModelProto) -> ort.InferenceSession:
    """One that computes pairs as they are written."""
    return open_session(model, [custom_ops.register], GraphOptimizationLevel.ORT_DISABLE_ALL)


def with_bits(simulation: Simulation, reference: ModelProto, bits: int) -> Simulation:
    """The simulation with weights of fewer bits, each at the power-of-two step of least squared error."""
    floats, graph = Graph(reference), Graph(simulation.model)
    nodes = {node.name: node for node in floats}
    grids = dict(simulation.grids)
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    for node in graph:
        for at, name in enumerate(node.input[:2]):
            other = nodes.get(node.name)
            w = None if other is None or name not in grids else floats.array(other.input[at])
            if w is None or w.ndim < 2:
                continue
            top = int(np.ceil(np.log2(np.abs(w).max() / high)))
            zero = np.zeros((), np.int64)
            steps = [np.asarray(2.0**power, np.float32) for power in range(top - 3, top + 1)]
            tried = [Grid(step, zero, low, high) for step in steps]
            grids[name] = min(tried, key=lambda grid: float(np.sum((grid.rounded(w) - w) ** 2)))
            graph.put_initializer(numpy_helper.from_array(grids[name].rounded(w), name))
    return Simulation(graph.to_model(), grids)


def changed(simulation: Simulation, reference: ModelProto, result: Finetuned) -> ModelProto:
    """The simulation with what fine-tuning found."""
    graph = Graph(simulation.model)
    nodes = {node.name: node for node in graph}
    found = {**result.weights, **result.biases}
    for node in Graph(reference):
        for at, name in enumerate(node.input):
            if name in found and node.name in nodes:
                graph.put_initializer(numpy_helper.from_array(found[name], nodes[node.name].input[at]))
    return graph.to_model()


def score(model: ModelProto, name: str, wanted: Any) -> tuple[float, float]:
    """(accuracy, SQNR in dB) on the evaluation digits."""
    known = networks.digits(name)
    found = networks.logits(session(model), known.evaluation)
    return float(np.mean(found.argmax(1) == known.labels)), networks.sqnr(wanted, found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=48)
    parser.add_argument("--networks", nargs="*", default=list(networks.NAMES))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failures = 0
    print("network            float  configuration      bits  quantized     bias only            hessian")
    for name in arguments.networks:
        wanted = networks.logits(networks.session(networks.network(name)), networks.digits(name).evaluation)
        exact = networks.accuracy(networks.session(networks.network(name)), name)
        for key in ("NPU", "NPU, CLE") if name != "transformer" else ("NPU transformer",):
            options = CONFIGURATIONS[key]
            quantized = quantize_static(
                networks.network(name), None, networks.reader(name, arguments.samples), **options
            )
            reference = prepared(networks.network(name), **options)
            eight = simulation_of(quantized.model)
            feeds = networks.digits(name, arguments.samples, 0).calibration
            for bits in (8, 4):
                simulation = eight if bits == 8 else with_bits(eight, reference, bits)
                before = score(simulation.model, name, wanted)
                cells, settings = [f"{before[0]:.3f} {before[1]:5.1f} dB"], FinetuneSettings(seed=arguments.seed)
                for candidates in (ONLY_BIAS, HESSIAN):
                    start = time.perf_counter()
                    result = finetune(reference, simulation, feeds, session, replace(settings, candidates=candidates))
                    seconds = time.perf_counter() - start
                    after = score(changed(simulation, reference, result), name, wanted)
                    cells.append(f"{after[0]:.3f} {after[1]:5.1f} dB {seconds:4.1f} s")
                    failures += after[0] < before[0] - LOST
                print(f"{name:17}  {exact:.3f}  {key:17}  {bits}     " + "  ".join(cells), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
