"""``ort-vitis dump``: the codes of every quantized tensor for one sample, in files to compare with a device."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import Any

from .data_arguments import add_data, data_reader


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "dump",
        help="write what the quantized tensors hold",
        description="Integer codes of weights and activations for the first sample, as .bin and .txt, and an index.",
    )
    parser.set_defaults(run=run, folder_output=True)
    parser.add_argument("model", metavar="QUANTIZED", help="the quantized model")
    parser.add_argument("-o", "--output", metavar="FOLDER", default="dump_results", help="default: dump_results")
    add_data(parser, otherwise="the first sample is run; default: a random one")
    parser.add_argument("--float", action="store_true", help="write the floats of every node's outputs too")


def run(arguments: argparse.Namespace) -> int:
    """Run the first sample and write the files."""
    from ort_vitis_plugin.analysis.dump import dump_model

    reader = data_reader(arguments)
    dump_model(arguments.model, reader, dump_float=arguments.float, output_dir=arguments.output)
    print(f"written: {arguments.output}")
    return 0
