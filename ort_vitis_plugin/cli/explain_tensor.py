"""``ort-vitis explain-tensor``: where one tensor's parameters come from, what moved them, and what they cost."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from .configuration import configuration_options, keywords_of, said
from .data_arguments import data_options, data_reader
from .output import Output
from .verb import verb

if TYPE_CHECKING:
    from ort_vitis_plugin.report.report import Result
    from ort_vitis_plugin.report.tensor_story import TensorStory


@verb("explain-tensor", examples=("ort-vitis explain-tensor digits.onnx logits --data samples.npz --preset ipu_cnn",))
@click.argument("model", metavar="MODEL")
@click.argument("tensor", metavar="TENSOR")
@data_options(otherwise="without it one random sample calibrates")
@configuration_options
def explain_tensor_verb(out: Output, model: str, tensor: str, **flags: Any) -> None:
    """Why a tensor has its scale: method, override, sharing, rules, fusion, and its error.

    The model is quantized as `quantize` would with the same flags; nothing is written.
    """
    from ort_vitis_plugin.entry.quantize_static import quantize_static

    found = said(flags)
    keywords = keywords_of(found)
    keywords["extra_options"] = {"ExplainTensors": True, **keywords["extra_options"]}
    result = quantize_static(model, None, data_reader(flags, found.get("samples")), **keywords)
    story = result.report.tensors.get(tensor) or _float_story(model, tensor, result)
    out.table(tensor, ("what", "how"), story.lines())
    out.data(story.as_dict())


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
