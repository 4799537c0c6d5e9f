"""What a verdict costs a call, and what evaluation and report cost beside running both models.

    python tests/benchmarks/bench_verdict.py
    python tests/benchmarks/bench_verdict.py --nodes 200 --channels 16 --side 16

A chain of Conv (3 x 3) and ReLU; its result is good. The verdict takes at most a tenth of a call's time. Evaluation and
the page of a report, with 16 samples, take at most 3 times as long as loading both models and running the samples
through them. CPU seconds; exits with 1 where a limit is exceeded.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

import ort_vitis_plugin  # noqa: E402
from ort_vitis_plugin import custom_ops  # noqa: E402
from ort_vitis_plugin.entry.report_data import report_data  # noqa: E402
from ort_vitis_plugin.measure.evaluation import evaluate  # noqa: E402
from ort_vitis_plugin.onnx_io.sessions import open_session  # noqa: E402
from ort_vitis_plugin.pipeline import self_check  # noqa: E402
from ort_vitis_plugin.report.page import page  # noqa: E402
from tests.benchmarks.long_graphs import NPU, chain  # noqa: E402

SAMPLES, SHARE, TIMES = 16, 0.1, 3.0


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


class Counted:
    """Counts the CPU seconds of a function of a module."""

    def __init__(self, module: Any, name: str) -> None:
        self.total, self._module, self._name = 0.0, module, name
        self._call = getattr(module, name)

    def __enter__(self) -> Counted:
        def counted(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return self._call(*args, **kwargs)
            finally:
                self.total += time.process_time() - start

        setattr(self._module, self._name, counted)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self._module, self._name, self._call)


def samples_of(model: ModelProto) -> list[dict[str, Any]]:
    """N(0, 1) images."""
    rng = np.random.default_rng(1)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    return [{model.graph.input[0].name: rng.standard_normal(shape).astype(np.float32)} for _ in range(SAMPLES)]


def run_both(models: list[ModelProto], feeds: list[dict[str, Any]]) -> None:
    """Load each model and run all samples through it."""
    for model in models:
        session = open_session(model, [custom_ops.register])
        for feed in feeds:
            session.run(None, feed)


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU seconds of verdict, evaluation and report")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--side", type=int, default=28)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    model = chain(arguments.nodes, channels=arguments.channels, side=arguments.side, kernel=3)
    feeds = samples_of(model)
    small = chain(10)
    ort_vitis_plugin.quantize_static(small, None, samples_of(small), **NPU)
    made = []
    with Counted(self_check, "float_answers") as floats, Counted(self_check, "_verdict") as verdict:
        call = seconds(lambda: made.append(ort_vitis_plugin.quantize_static(model, None, feeds, **NPU)))
    result = made[0]
    share = (floats.total + verdict.total) / call
    print(f"call {call:.2f} s, verdict {floats.total + verdict.total:.2f} s: {share:.3f}, limit {SHARE}")
    print(f"the result: {min(result.report.sqnr.values()):.1f} dB, good: {result.report.verdict.is_good}")
    both = seconds(lambda: run_both([model, result.model], feeds))
    shown = {
        "evaluation": lambda: evaluate(model, result.model, feeds),
        "report": lambda: page(report_data(model, result, feeds, **NPU)),
    }
    times = {what: seconds(each) for what, each in shown.items()}
    ratio = sum(times.values()) / both
    told = ", ".join(f"{what} {each:.2f} s" for what, each in times.items())
    print(f"both models {both:.2f} s, {told}: {ratio:.2f}, limit {TIMES}")
    return int(share > SHARE or ratio > TIMES or not result.report.verdict.is_good)


if __name__ == "__main__":
    sys.exit(main())
