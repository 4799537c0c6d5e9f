"""The simulation's steps by key, in every opset that onnxruntime knows, and models to run them on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, defs, helper, shape_inference

from ort_vitis_ipu.simulate import SIMULATION
from ort_vitis_plugin.plugin.declarations import Transform
from ort_vitis_plugin.testing import LEVELS, check_transform, graph, random_feeds, run_model

STEPS: dict[str, Transform] = {step.key: step for step in SIMULATION}
LEAKY, SIGMOID, HARD = "ConvertLeakyReluToDPUVersion", "ConvertSigmoidToHardSigmoid", "ConvertHardSigmoidToDPUVersion"
POOL, MEAN, SOFTMAX = "ConvertAvgPoolToDPUVersion", "ConvertReduceMeanToDPUVersion", "ConvertSoftmaxToDPUVersion"


def newest_opset() -> int:
    """The newest opset that both the installed onnx and onnxruntime know."""
    opset: int = defs.onnx_opset_version()
    while True:
        try:
            run_model(graph("t (float[1] x) => (float[1] y) { y = Abs(x) }", opset), {"x": np.ones(1, np.float32)})
        except Exception:
            opset -= 1
        else:
            return opset


OPSETS = (10, 11, 12, 13, 15, 17, 18, 21, newest_opset())
Array = np.ndarray[Any, Any]


def model(text: str, opset: int = 17, **constants: Array) -> ModelProto:
    return graph(text, opset, constants, ir_version=7 if opset < 13 else 8 if opset < 21 else 10)


def simulate(key: str, source: ModelProto) -> list[tuple[Array, Array]]:
    """Check the transform; the float and the simulated output y at both optimization levels."""
    result = check_transform(STEPS[key], source)
    feeds = random_feeds(source)
    return [(run_model(source, feeds, level)["y"], run_model(result, feeds, level)["y"]) for level in LEVELS]


def reduce_mean(axes: list[int] | None, opset: int, shape: str = "2, 3, 4, 5", **attributes: int) -> ModelProto:
    given = ", ".join(f"{key} = {value}" for key, value in attributes.items())
    if axes is None or opset >= 18:
        inputs = "x" if axes is None else "x, axes"
        constants = {} if axes is None else {"axes": np.array(axes, np.int64)}
        call = f"ReduceMean<{given}>({inputs})" if given else f"ReduceMean({inputs})"
    else:
        constants = {}
        call = f"ReduceMean<axes = {axes}{', ' if given else ''}{given}>(x)"
    node = model(f"t (float[{shape}] x) => (float y) {{ y = {call} }}", opset, **constants)
    return infer_output(node)


def infer_output(source: ModelProto) -> ModelProto:
    """The model with its output's shape as inference finds it."""
    source.graph.output[0].CopyFrom(helper.make_empty_tensor_value_info("y"))
    return shape_inference.infer_shapes(source, data_prop=True)
