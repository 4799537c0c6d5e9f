"""Time of every float-graph transform on 1,000 and on 4,000 nodes; the ratio may be 5 at most.

Processor seconds, median of seven rounds. Run: PYTHONPATH=.:plugins python tests/benchmarks/bench_transforms.py
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes

from ort_vitis_ipu.prepare.bn_to_conv import bn_to_conv
from ort_vitis_ipu.prepare.clip_to_relu import clip_to_relu
from ort_vitis_ipu.prepare.fuse_instance_norm import fuse_instance_norm
from ort_vitis_ipu.prepare.fuse_l2_norm import fuse_l2_norm
from ort_vitis_ipu.prepare.reduce_mean_to_pool import reduce_mean_to_pool
from ort_vitis_ipu.prepare.split_large_pool import split_large_pool
from ort_vitis_ipu.prepare.split_to_slice import split_to_slice
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.plugin.declarations import Transform
from ort_vitis_plugin.testing import plain_context
from ort_vitis_prepare.cle.equalize import equalize
from ort_vitis_prepare.convert.clip6_to_relu import clip6_to_relu
from ort_vitis_prepare.convert.fp16_to_fp32 import fp16_to_fp32
from ort_vitis_prepare.convert.nchw_to_nhwc import nchw_to_nhwc
from ort_vitis_prepare.fold.fold_batch_norm import fold_batch_norm
from ort_vitis_prepare.normalize.remove_input_init import remove_input_init

LIMIT = 5.0
ROUNDS = 7
SIZES = (1000, 4000)
Block = Callable[[str, str], list[NodeProto]]


def node(op_type: str, inputs: str, outputs: str, **attributes: object) -> NodeProto:
    return helper.make_node(op_type, inputs.split(), outputs.split(), name=f"{op_type}_{outputs}", **attributes)


def conv_norm(x: str, y: str) -> list[NodeProto]:
    return [node("Conv", f"{x} w b", f"{y}c"), node("BatchNormalization", f"{y}c g o m v", y)]


def conv_relu(x: str, y: str) -> list[NodeProto]:
    return [node("Conv", f"{x} {y}w b", f"{y}c"), node("Relu", f"{y}c", y)]


def norm(x: str, y: str) -> list[NodeProto]:
    return [node("BatchNormalization", f"{x} g o m v", y)]


def clip(x: str, y: str) -> list[NodeProto]:
    return [node("Clip", f"{x} zero six", y)]


def split(x: str, y: str) -> list[NodeProto]:
    return [node("Split", f"{x} sizes", f"{y}l {y}r", axis=1), node("Concat", f"{y}r {y}l", y, axis=1)]


def mean(x: str, y: str) -> list[NodeProto]:
    return [node("ReduceMean", x, f"{y}m", axes=[2, 3]), node("Add", f"{x} {y}m", y)]


def pool(x: str, y: str) -> list[NodeProto]:
    return [node("GlobalAveragePool", x, f"{y}m"), node("Add", f"{x} {y}m", y)]


def l2(x: str, y: str) -> list[NodeProto]:
    return [node("ReduceL2", x, f"{y}n", axes=[1]), node("Div", f"{x} {y}n", y)]


def instance(x: str, y: str) -> list[NodeProto]:
    return [
        node("GlobalAveragePool", x, f"{y}u"),
        node("Sub", f"{x} {y}u", f"{y}d"),
        node("Mul", f"{y}d {y}d", f"{y}q"),
        node("GlobalAveragePool", f"{y}q", f"{y}v"),
        node("Add", f"{y}v six", f"{y}w"),
        node("Sqrt", f"{y}w", f"{y}r"),
        node("Div", f"{y}d {y}r", y),
    ]


def chain(block: Block, size: int, *, inputs: bool = False, dtype: type = np.float32) -> ModelProto:
    """``size`` nodes in a row on [1, 4, 24, 24]; with ``inputs``, every initializer is a graph input."""
    nodes: list[NodeProto] = []
    while len(nodes) < size:
        nodes += block(f"t{len(nodes)}" if nodes else "x", "next")
        for made in nodes[-len(block("", "next")) :]:
            for names in (made.input, made.output):
                for at, name in enumerate(names):
                    names[at] = name.replace("next", f"t{len(nodes)}")
            made.name = f"{made.op_type}_{made.output[0]}"
    last = f"t{len(nodes)}"
    arrays: dict[str, NDArray[np.float64]] = {
        **{name: np.ones(4) for name in "bgomv"},
        "zero": np.array(0),
        "six": np.array(6),
    }
    weights = [made.input[1] for made in nodes if made.op_type == "Conv"]
    arrays |= {name: np.full((4, 4, 1, 1), 1.0 + number % 3) for number, name in enumerate(weights)}
    tensors = [numpy_helper.from_array(array.astype(dtype), name) for name, array in arrays.items()]
    tensors.append(numpy_helper.from_array(np.array([1, 3]), "sizes"))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x, y = (helper.make_tensor_value_info(name, kind, [1, 4, 24, 24]) for name in ("x", last))
    more = [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors] if inputs else []
    graph = helper.make_graph(nodes, "chain", [x, *more], [y], tensors)
    return infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


CASES: dict[str, tuple[Transform, Callable[[int], ModelProto]]] = {
    "RemoveInputInit": (remove_input_init, lambda size: chain(conv_relu, size, inputs=True)),
    "ConvertFP16ToFP32": (fp16_to_fp32, lambda size: chain(conv_relu, size, dtype=np.float16)),
    "ConvertNCHWToNHWC": (nchw_to_nhwc, lambda size: chain(conv_relu, size)),
    "FoldBatchNorm": (fold_batch_norm, lambda size: chain(conv_norm, size)),
    "ConvertBNToConv": (bn_to_conv, lambda size: chain(norm, size)),
    "ReplaceClip6Relu": (clip6_to_relu, lambda size: chain(clip, size)),
    "ConvertClipToRelu": (clip_to_relu, lambda size: chain(clip, size)),
    "CrossLayerEqualization": (equalize, lambda size: chain(conv_relu, size)),
    "ConvertReduceMeanToGlobalAvgPool": (reduce_mean_to_pool, lambda size: chain(mean, size)),
    "SplitLargeKernelPool": (split_large_pool, lambda size: chain(pool, size)),
    "ConvertSplitToSlice": (split_to_slice, lambda size: chain(split, size)),
    "FuseInstanceNorm": (fuse_instance_norm, lambda size: chain(instance, size)),
    "FuseL2Norm": (fuse_l2_norm, lambda size: chain(l2, size)),
}


def seconds(step: Transform, model: ModelProto) -> tuple[float, int]:
    """Processor seconds from model to model, without garbage collection (as timeit), and the number of rewrites."""
    context = plain_context(IncludeCLE=True)
    gc.collect()
    gc.disable()
    start = time.process_time()
    graph = Graph(model)
    rewrites = step(graph, context)
    graph.to_model()
    spent = time.process_time() - start
    gc.enable()
    return spent, rewrites


def measure(step: Transform, models: list[ModelProto]) -> list[tuple[float, int]]:
    """The median of the rounds for every size; sizes take turns, so that other load meets all alike."""
    rounds = [[seconds(step, model) for model in models] for _ in range(ROUNDS)]
    return [sorted(times)[ROUNDS // 2] for times in zip(*rounds, strict=True)]


def main() -> int:
    """Print a row per transform; 1 when a ratio is above the limit."""
    worst = 0.0
    for name, (step, build) in CASES.items():
        (small, few), (large, many) = measure(step, [build(size) for size in SIZES])
        if not few or many < few:
            raise SystemExit(f"{name} rewrites {few} and {many} times: the benchmark does not reach it")
        ratio = large / small
        worst = max(worst, ratio)
        times = f"{small * 1e3:7.1f} and {large * 1e3:7.1f} ms"
        print(f"{name:34} {few:5} and {many:5} rewrites, {times}, ratio {ratio:.2f}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
