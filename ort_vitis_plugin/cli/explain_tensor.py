"""``ort-vitis explain-tensor``: where one tensor's parameters come from, what moved them, and what they cost."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .data_arguments import add_data, data_reader
from .quantize import add_configuration, configuration

if TYPE_CHECKING:
    from ort_vitis_plugin.report.report import Result
    from ort_vitis_plugin.report.tensor_story import TensorStory


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "explain-tensor",
        help="why a tensor has its scale: method, override, sharing, rules, fusion, and its error",
        description="The model is quantized as `quantize` would with the same flags; nothing is written.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="the float model")
    parser.add_argument("tensor", metavar="TENSOR", help="a tensor of it, a weight or bias included")
    add_data(parser, otherwise="without it one random sample calibrates")
    parser.add_argument("--json", metavar="FILE", help="write the same as JSON too")
    add_configuration(parser)


def run(arguments: argparse.Namespace) -> int:
    """Quantize in memory, and tell the story of the tensor.

    Raises:
        UnknownNameError: neither the model nor its quantized form has the tensor.
    """
    from ort_vitis_plugin.entry.quantize_static import quantize_static
    from ort_vitis_plugin.onnx_io.whole_file import write_text
    from ort_vitis_plugin.plugin.catalog import shared_catalog
    from ort_vitis_plugin.report.tables import table, wide_console

    keywords = configuration(arguments, shared_catalog())
    keywords["extra_options"] = {"ExplainTensors": True, **keywords["extra_options"]}
    result = quantize_static(arguments.model, None, data_reader(arguments), **keywords)
    story = result.report.tensors.get(arguments.tensor) or _float_story(arguments.model, arguments.tensor, result)
    wide_console().print(table(arguments.tensor, ("what", "how"), story.lines()))
    if arguments.json:
        write_text(arguments.json, json.dumps(story.as_dict(), indent=1) + "\n")
    return 0


def _float_story(path: str, tensor: str, result: Result) -> TensorStory:
    """The story of a tensor that no operator marked: its node stays float, or it is not there any more."""
    from ort_vitis_plugin.errors import UnknownNameError, suggest
    from ort_vitis_plugin.graph import Graph
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.report.tensor_story import TensorStory

    for graph in (Graph(result.model, copy=False), Graph(load_model(path), copy=False)):
        producer = graph.producer(tensor)
        around = [*([producer] if producer is not None else []), *graph.consumers(tensor)]
        reasons = [f"{node.name}: {why}" for node in around if (why := result.report.left_float.get(node.name))]
        if around or tensor in graph.inputs or graph.is_constant(tensor):
            why = "; ".join(reasons) or "no node that is quantized reads or writes it"
            return TensorStory(tensor, "float", dropped=why)
    known = {name for node in graph for name in (*node.input, *node.output)}
    raise UnknownNameError(f"the model has no tensor {tensor!r}{suggest(tensor, known)}")
