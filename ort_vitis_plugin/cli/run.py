"""``ort-vitis run``: a script of others, with onnxruntime's quantize_static answered by us where it asks for us."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import Any


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "run",
        help="run a Python script, or a module, with ort_vitis_plugin imported",
        description="Run a client of onnxruntime unchanged: what it and the processes that it starts import of "
        "onnxruntime.quantization understands our formats, methods, types and options.",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--names",
        metavar="PACKAGE",
        action="append",
        default=[],
        help="an older package whose names the script imports, such as vai_q_onnx; repeatable",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT names a module, as in python -m")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", metavar="ARGUMENTS", nargs=argparse.REMAINDER, help="what the script takes")


def run(arguments: argparse.Namespace) -> int:
    """Run it; its exit status is ours."""
    from ort_vitis_plugin.compat.client import run_client

    start = ["-m", arguments.script] if arguments.module else [arguments.script]
    return run_client([*start, *arguments.arguments], arguments.names)
