"""Time of the whole call grows linearly with nodes, in every configuration: 1,000 and 4,000 nodes, in one process.

    python tests/benchmarks/bench_chain.py                       both shapes of graph, all configurations
    python tests/benchmarks/bench_chain.py --only "chain NPU"    what contains all these words
    python tests/benchmarks/bench_chain.py --nodes 400 1600

``chain`` is Conv+Relu of 4 channels, one behind the other; ``branches`` has residual Adds, Concats, weights that eight
blocks share, and some Ifs whose branches read outer tensors and constants. Prints CPU seconds (user and system, of this
process), their ratio, and the ratio of what is left without loading: onnxruntime's optimizers take 5 to 7 times as long
for four times the nodes once pairs stand in a graph. The latter is at most 5 for four times the nodes. For the shorter
chain onnxruntime's own MinMax call is measured too: ours is below it. Exits with 1 where a limit is exceeded.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
from onnx import ModelProto
from onnxruntime.quantization import quantize_static

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

import ort_vitis_plugin  # noqa: E402
from tests.benchmarks.long_graphs import CONFIGURATIONS, SHAPES, OneSample, chain  # noqa: E402

LINEAR, AGAINST_ORT = 5.0 / 4, 1.0  # of the ratio of nodes; of onnxruntime's time


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


class Loading:
    """Counts the CPU seconds in which onnxruntime loads models."""

    def __init__(self) -> None:
        self.total = 0.0
        self._load = ort.InferenceSession.__init__

    def __enter__(self) -> Loading:
        def load(session: ort.InferenceSession, *args: Any, **kwargs: Any) -> None:
            self.total += seconds(lambda: self._load(session, *args, **kwargs))

        ort.InferenceSession.__init__ = load
        return self

    def __exit__(self, *_: object) -> None:
        ort.InferenceSession.__init__ = self._load


def ours(model: ModelProto, configuration: str) -> tuple[float, float]:
    """CPU seconds of our call, and without loading."""
    arguments = CONFIGURATIONS[configuration]
    with Loading() as loading:
        total = seconds(lambda: ort_vitis_plugin.quantize_static(model, None, OneSample(model), **arguments))
    return total, total - loading.total


def theirs(model: ModelProto) -> float:
    """CPU seconds of onnxruntime's MinMax call."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = str(Path(folder) / "chain.onnx"), str(Path(folder) / "quantized.onnx")
        onnx.save(model, source)
        return seconds(lambda: quantize_static(source, target, OneSample(model)))


def rows(words: list[str]) -> Iterator[tuple[str, Callable[[int], ModelProto], str]]:
    """Name, shape and configuration of the rows that contain all words; a chain has no bodies."""
    for shape, build in SHAPES.items():
        for configuration in CONFIGURATIONS:
            row = f"{shape} {configuration}"
            if row != "chain bodies too" and all(word in row for word in words):
                yield row, build, configuration


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU seconds of a call over the number of nodes")
    parser.add_argument("--nodes", type=int, nargs=2, default=(1000, 4000), metavar=("SHORT", "LONG"))
    parser.add_argument("--only", default="", help="rows that contain all these words")
    arguments = parser.parse_args()
    short, long = arguments.nodes
    limit = LINEAR * long / short
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    ours(chain(40), "NPU")
    print(f"{'CPU seconds':<26}{short:>8}{long:>8}{'ratio':>8}{'without loading':>17}, limit {limit:g}")
    worst = 0.0
    for row, build, configuration in rows(arguments.only.split()):
        (fast, fast_rest), (slow, slow_rest) = ours(build(short), configuration), ours(build(long), configuration)
        print(f"{row:<26}{fast:>8.2f}{slow:>8.2f}{slow / fast:>8.2f}{slow_rest / fast_rest:>17.2f}", flush=True)
        worst = max(worst, slow_rest / fast_rest)
        if row == "chain NPU":
            other = theirs(chain(short))
            print(f"{'onnxruntime MinMax':<26}{other:>8.2f}  ours / theirs {fast / other:.2f}, limit {AGAINST_ORT:g}")
            worst = max(worst, limit * fast / other / AGAINST_ORT)
    return int(worst > limit)


if __name__ == "__main__":
    raise SystemExit(main())
