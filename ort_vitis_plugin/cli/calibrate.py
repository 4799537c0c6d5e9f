"""``ort-vitis calibrate``: run the samples once, for many calls of ``ort-vitis quantize --calibration``."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from .data_arguments import add_data, data_reader
from .quantize import add_configuration, configuration


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "calibrate",
        help="run the samples once and keep the statistics",
        description="Statistics of every float tensor in one file, from which any method and type reads its ranges. "
        "What prepares the model (preset, --cle, converters) must be the same when the file is used.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="the float model")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the file to write")
    add_data(parser, required=True)
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="processes that share the samples")
    parser.add_argument("--checkpoint", metavar="FILE", help="go on from this file when broken off")
    parser.add_argument("--plot", metavar="FOLDER", help="draw each tensor's distribution and its error over positions")
    add_configuration(parser)


def run(arguments: argparse.Namespace) -> int:
    """Calibrate, write whole or not at all.

    Raises:
        ModelNotFoundError: the folder to write into does not exist.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from ort_vitis_plugin.entry.quantize_static import calibrate
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    keywords = configuration(arguments, shared_catalog())
    reader = data_reader(arguments)
    with contextlib.ExitStack() as stack:
        executor = None
        if arguments.workers > 1:
            executor = stack.enter_context(ProcessPoolExecutor(arguments.workers, get_context("spawn")))
        found = calibrate(arguments.model, reader, executor=executor, checkpoint=arguments.checkpoint, **keywords)
    found.save(arguments.output)
    print(f"written: {arguments.output} ({found.samples} samples, {len(found.sketches)} tensors)")
    if arguments.plot is not None:
        from ort_vitis_plugin.analysis.plot import plot
        from ort_vitis_plugin.numerics.qtypes import host_qtype

        symmetric = bool(keywords["extra_options"].get("ActivationSymmetric", True))
        drawn = plot(found, arguments.plot, host_qtype(keywords.get("activation_type", "QInt8")), symmetric=symmetric)
        print(f"written: {len(drawn)} plots in {arguments.plot}")
    return 0
