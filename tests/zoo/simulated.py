"""``python -m tests.zoo.simulated --zoo ZOO.py NAME``: what block formats cost in onnxruntime, and in numpy alone.

The written file runs in a session, and in onnx's reference evaluator with the block operators of
``ort_vitis_block.numpy_reference``; decibels of both, output by output, are against the float network in onnxruntime.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from ort_vitis_block import block_floating_point, microscaling
from ort_vitis_plugin import custom_ops, quantize_static
from ort_vitis_plugin.custom_ops.schemas import reference_ops
from ort_vitis_plugin.data_readers.spread import spread
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.zoo import configurations
from tests.zoo.__main__ import Feeds, zoo_at

if TYPE_CHECKING:
    from collections.abc import Iterable


class BFPFixNeuron(OpRun):
    """The specification in numpy."""

    op_domain = "com.vai.quantize"

    def _run(self, x: Any, **attributes: Any) -> tuple[Any]:
        return (block_floating_point(x, **attributes),)


class MXFixNeuron(OpRun):
    """The specification in numpy."""

    op_domain = "com.vai.quantize"

    def _run(self, x: Any, **attributes: Any) -> tuple[Any]:
        return (microscaling(x, **attributes),)


def by_numpy(model: onnx.ModelProto, feeds: Iterable[dict[str, Any]]) -> list[list[Any]]:
    """Outputs of the model for each feed, without onnxruntime and without the functions in the file."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.functions[:]
    evaluator = ReferenceEvaluator(bare, new_ops=[BFPFixNeuron, MXFixNeuron, *reference_ops()])
    return [evaluator.run(None, feed) for feed in feeds]


def decibels(wanted: list[list[Any]], found: list[list[Any]]) -> list[float]:
    """Of each output, all samples in one."""
    joined = (
        [np.concatenate([np.ravel(each) for each in part]) for part in zip(*runs, strict=True)]
        for runs in (wanted, found)
    )
    return [sqnr_db(f, q) for f, q in zip(*joined, strict=True)]


def main() -> int:
    """Print one line for each output of each network."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.simulated", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="+", metavar="NAME", help="networks of the zoo")
    parser.add_argument("--zoo", type=Path, required=True, help="the zoo's Python file")
    parser.add_argument("--only", default="BFP16", help="the preset (default: BFP16)")
    parser.add_argument("--samples", type=int, default=4, help="of the calibration data, evenly spread (default: 4)")
    arguments = parser.parse_args()
    zoo = zoo_at(arguments.zoo)
    for name in arguments.names:
        case = getattr(zoo, f"load_{name}")()
        model = onnx.load(case.path)
        options = configurations.of(name, model)[arguments.only]
        quantized = quantize_static(case.path, None, Feeds(case.calib), **options).model
        feeds = [case.calib[at] for at in spread(len(case.calib), arguments.samples)]
        exact, session = open_session(model), open_session(quantized, [custom_ops.register])
        wanted, found = ([runs.run(None, feed) for feed in feeds] for runs in (exact, session))
        for output, onnxruntime_db, numpy_db in zip(
            model.graph.output, decibels(wanted, found), decibels(wanted, by_numpy(quantized, feeds)), strict=True
        ):
            print(
                f"{name} {output.name}: onnxruntime {onnxruntime_db:.2f} dB, numpy {numpy_db:.2f} dB, "
                f"difference {onnxruntime_db - numpy_db:+.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
