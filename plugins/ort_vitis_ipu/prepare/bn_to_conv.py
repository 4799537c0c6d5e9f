"""A BatchNormalization that nothing can absorb is a depthwise 1x1 convolution.

    y = a x + c  ->  Conv(x, w, b), group = C, w[C, 1, 1, 1] = a, b[C] = c,   a = gamma / sqrt(var + epsilon)

Outputs agree within 1e-5 of the tensor's largest value.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import NodeProto, TensorProto, helper

from ort_vitis_plugin.api import Context, Graph, Stage, batch_norm_affine, become, transform


def _convert(graph: Graph, node: NodeProto) -> str | None:
    """Rewrite in place, or say why not."""
    shape = graph.shape(node.input[0]) or graph.shape(node.output[0])
    if shape is None:
        return "the rank of its input is unknown; infer shapes first"
    if len(shape) != 4:
        return f"its input has rank {len(shape)}, the device convolves rank 4"
    parameters = batch_norm_affine(graph, node)
    if isinstance(parameters, str):
        return parameters
    a, c = parameters
    dtype = helper.tensor_dtype_to_np_dtype(graph.element_type(node.input[0]) or TensorProto.FLOAT)
    weights = graph.add_initializer(f"{node.output[0]}weights", a.astype(dtype).reshape(-1, 1, 1, 1))
    bias = graph.add_initializer(f"{node.output[0]}bias", c.astype(dtype))
    graph.set_outputs(node, [node.output[0]])
    window = {"kernel_shape": [1, 1], "strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1]}
    become(graph, node, "Conv", [node.input[0], weights, bias], group=a.size, **window)
    return None


@transform(
    "ConvertBNToConv",
    stage=Stage.PREPARE,
    target="ipu_cnn",
    after=("FoldBatchNorm",),
    before=("CrossLayerEqualization",),
)
def bn_to_conv(graph: Graph, context: Context) -> int:
    """Turn a BatchNormalization that stands alone into a depthwise 1x1 Conv."""
    rewrites = 0
    for node in graph.of_type("BatchNormalization"):
        reason = context.refusal(node, any_type=True) or _convert(graph, node)
        if reason is None:
            rewrites += 1
        else:
            graph.skip(node, reason)
    return rewrites
