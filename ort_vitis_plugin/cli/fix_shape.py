"""``ort-vitis fix-shape``: a model with open sizes becomes one with fixed sizes, in a new file."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import Any

from .convert import save
from .shape_arguments import add_shapes, given_shapes


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "fix-shape",
        help="fix the sizes of a model's inputs",
        description="A device takes nodes whose sizes are known beforehand. What follows from the sizes is inferred "
        "through the model; without flags the open sizes are listed.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="the model")
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write")
    parser.add_argument("--external-data", action="store_true", help="write the weights to a file of their own")
    add_shapes(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fix, write, and say what is still open; or only say it.

    Raises:
        OptionError: sizes are given, but no output.
    """
    from ort_vitis_plugin.errors import OptionError
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.pipeline.fixed_shapes import fix_shapes, open_inputs
    from ort_vitis_plugin.report.device_causes import remedy

    sizes = given_shapes(arguments)
    model = load_model(arguments.model)
    if sizes and arguments.output is None:
        raise OptionError("say where to write the model: -o OUT")
    if sizes:
        model = fix_shapes(model, sizes)
        save(model, arguments.output, external_data=arguments.external_data)
    still = open_inputs(model)
    for name, shape in still.items():
        print(f"{name}: [{', '.join('?' if dim is None else str(dim) for dim in shape)}]")
    if still:
        print(f"to fix them, add {remedy(still)}")
    elif not sizes:
        print("every size of the model's inputs is fixed")
    return 0
