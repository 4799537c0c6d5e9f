"""Image inputs take channels last, as cameras deliver them and the NPU reads them.

    x[N, C, H, W]  ->  x[N, H, W, C], Transpose(perm = [0, 3, 1, 2]) behind it

An image has rank 4 and C in 1, 3, 4, or C < H and C < W. All image inputs convert, or none; other inputs, and all
outputs, keep name and layout. Which inputs converted is written into the model's metadata. The values are moved, not
computed: outputs are equal.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import ModelProto, TensorShapeProto

from ort_vitis_plugin.api import CHANNELS_LAST, CallOptions, Context, Graph, Report, Stage, attribute, transform

TO_NCHW = [0, 3, 1, 2]
CHANNELS = (1, 3, 4)


def is_image(graph: Graph, name: str) -> bool:
    """Whether an input is an image with channels first."""
    shape = graph.shape(name)
    if shape is None or len(shape) != 4 or name in graph.initializers:
        return False
    reader = graph.sole_consumer(name)
    if reader is not None and reader.op_type == "Transpose" and attribute(reader, "perm") == TO_NCHW:
        return False  # the model itself says that the input is NHWC
    _, c, h, w = shape
    if not isinstance(c, int):
        return False
    return c in CHANNELS or (isinstance(h, int) and isinstance(w, int) and c < h and c < w)


def _convert(graph: Graph, name: str) -> str:
    """Convert one input; what was done."""
    inner = graph.unique(f"{name}_nchw")
    element_type, shape = graph.element_type(name), graph.shape(name)
    assert shape is not None
    graph.replace_uses(name, inner)
    graph.describe(inner, element_type, shape)
    graph.make("Transpose", [name], [inner], f"{name}_transpose", perm=TO_NCHW)
    dims = graph.inputs[name].type.tensor_type.shape
    moved = TensorShapeProto()
    moved.dim.extend(dims.dim[axis] for axis in (0, 2, 3, 1))
    dims.CopyFrom(moved)
    graph.values[name] = graph.inputs[name]
    sides = ", ".join(str(side if side is not None else "?") for side in shape)
    return f"input {name} [{sides}] takes channels last now"


def _convert_all(graph: Graph) -> tuple[int, str]:
    """How many inputs converted, and what to say."""
    images = [name for name in graph.inputs if is_image(graph, name)]
    stuck = [name for name in images if name in graph.outputs]
    if stuck:
        return 0, f"NHWC: no input converted, because {', '.join(stuck)} is a graph output too and keeps its layout"
    if not images:
        return 0, "NHWC: no input is an NCHW image: nothing to convert"
    graph.model.metadata_props.add(key=CHANNELS_LAST, value="\n".join(images))
    return len(images), "NHWC: " + "; ".join([_convert(graph, name) for name in images])


@transform("ConvertNCHWToNHWC", stage=Stage.PREPARE, default=None)
def nchw_to_nhwc(graph: Graph, context: Context) -> int:
    """Let image inputs take channels last, where convert_nchw_to_nhwc asks for it."""
    if not context.options[CallOptions].convert_nchw_to_nhwc:
        return 0
    count, summary = _convert_all(graph)
    context.note(summary)
    return count


def convert_nchw_to_nhwc(model: ModelProto, report: Report | None = None) -> ModelProto:
    """A copy of the model whose image inputs take channels last."""
    graph = Graph(model)
    _, summary = _convert_all(graph)
    if report is not None:
        report.note(summary)
    return graph.to_model()
