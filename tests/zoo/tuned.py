"""``python -m tests.zoo.tuned --zoo ZOO.py NAME --budget 3m``: what ``tune`` makes of a network, and how long it takes.

One line per network: scores of float and of the best trial on data that no trial saw, nodes on the device, seconds by
the wall clock; below it decibels and agreement of each part of the outputs, as the report of the best says them.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import onnx

from ort_vitis_plugin import custom_ops, tune
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.zoo.__main__ import zoo_at

POINT = 0.01  # of the score that a search by it may lose


def main() -> int:
    """Print one line for each network."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.tuned", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="+", metavar="NAME", help="networks of the zoo")
    parser.add_argument("--zoo", type=Path, required=True, help="the zoo's Python file")
    parser.add_argument("--target", default="ipu_cnn", help="whose nodes are counted (default: ipu_cnn)")
    parser.add_argument("--budget", default="5m", help="of each network (default: 5m)")
    parser.add_argument(
        "--metric",
        choices=("sqnr", "score"),
        default="sqnr",
        help="sqnr, or score: the zoo's own, up to a point below float",
    )
    parser.add_argument("--trials", action="store_true", help="a line for each trial too")
    arguments = parser.parse_args()
    zoo = zoo_at(arguments.zoo)
    for name in arguments.names:
        case = getattr(zoo, f"load_{name}")()
        asked: dict[str, Any] = {"target": arguments.target, "budget": arguments.budget}
        exact = case.evaluate(open_session(onnx.load(case.path)))
        if arguments.metric == "score":
            asked |= {"metric": case.evaluate, "goal": exact - POINT}
        start = time.perf_counter()
        tuned = tune(case.path, case.calib, **asked)
        seconds = time.perf_counter() - start
        for row in tuned.trials if arguments.trials else ():
            print(
                f"  {row.what}: {row.score} {row.exchanged} {row.on_device} {row.seconds:.1f} s {row.failure}",
                flush=True,
            )
        print(
            f"{name}: float {exact:.4f}, "
            f"tuned {case.evaluate(open_session(tuned.result.model, [custom_ops.register])):.4f} ({tuned.best.what}), "
            f"{tuned.best.on_device} of {tuned.trials[0].on_device} nodes on the device, {seconds:.0f} s",
            flush=True,
        )
        for part in tuned.result.report.verdict.judgements:
            agreement = "" if part.agreement is None else f", agreement {part.agreement:.4f}"
            print(f"  {part.name}: {part.decibels:.1f} dB{agreement}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
