"""Hessian rounding beside AdaRound of torch on the same layers: python tests/benchmarks/bench_adaround.py

Networks of the tests as the NPU has them, with weights of 8 and of 4 bits, go through the same walk, with the same
samples, guards and grids, twice: with Hessian rounding, and with AdaRound from plain rounding (1,000 iterations of
1,024 columns). Error of the network's logits on 500 digits as a share of float's, and processor seconds of one thread:
of the whole call with Hessian rounding, of AdaRound's training alone. Exits with 1 where Hessian rounding has the
larger error in the geometric mean over networks and bits, or is less than 3 times faster on one.
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

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

import torch  # noqa: E402

from ort_vitis_finetune import ONLY_BIAS, FinetuneSettings, finetune, simulation_of  # noqa: E402
from ort_vitis_plugin import quantize_static  # noqa: E402
from ort_vitis_plugin.entry.quantize_static import prepared  # noqa: E402
from ort_vitis_torch.algorithms import ADAROUND  # noqa: E402
from tests.benchmarks.bench_finetune import changed, score, session, with_bits  # noqa: E402
from tests.models import networks  # noqa: E402
from tests.zoo.configurations import CONFIGURATIONS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping

FASTER = 3.0
CASES = (("digits", "NPU"), ("depthwise_skewed", "NPU, CLE"), ("halves", "NPU"), ("dead_channels", "NPU"))


class Stopwatch:
    """AdaRound, and how long it trained."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.rounding = replace(ADAROUND, solve=self._solve)

    def _solve(self, problem: Any, parameters: Mapping[str, float]) -> Any:
        start = time.process_time()
        found = ADAROUND.solve(problem, parameters)
        self.seconds += time.process_time() - start
        return found


def shares(name: str, key: str, samples: int, bits: int) -> tuple[float, float, float, float]:
    """(error and seconds with Hessian rounding, with AdaRound) of one network."""
    options = CONFIGURATIONS[key]
    wanted = networks.logits(networks.session(networks.network(name)), networks.digits(name).evaluation)
    quantized = quantize_static(networks.network(name), None, networks.reader(name, samples), **options)
    reference = prepared(networks.network(name), **options)
    simulation = simulation_of(quantized.model)
    simulation = simulation if bits == 8 else with_bits(simulation, reference, bits)
    feeds = networks.digits(name, samples, 0).calibration

    def error(result: Any) -> float:
        return float(10 ** (-score(changed(simulation, reference, result), name, wanted)[1] / 20))

    start = time.process_time()
    ours = finetune(reference, simulation, feeds, session)
    seconds = time.process_time() - start
    watch = Stopwatch()
    trained = FinetuneSettings(
        candidates=(*ONLY_BIAS, ADAROUND.key), rounding=ADAROUND.key, parameters=tuple(ADAROUND.parameters.items())
    )
    theirs = finetune(reference, simulation, feeds, session, trained, rounding=watch.rounding)
    return error(ours), seconds, error(theirs), watch.seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=64)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    ratios, speeds = [], []
    print("network            bits  hessian          AdaRound         error  time")
    for name, key in CASES:
        for bits in (8, 4):
            ours, seconds, theirs, trained = shares(name, key, arguments.samples, bits)
            ratios.append(ours / theirs)
            speeds.append(trained / seconds)
            cells = f"{ours:.4f} {seconds:6.2f} s  {theirs:.4f} {trained:6.2f} s  {ratios[-1]:5.2f}  {speeds[-1]:4.1f}x"
            print(f"{name:17}  {bits}     {cells}", flush=True)
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"error of Hessian rounding: {mean:.3f} of AdaRound's; at least {min(speeds):.1f} times faster")
    return int(mean > 1 or min(speeds) < FASTER)


if __name__ == "__main__":
    sys.exit(main())
