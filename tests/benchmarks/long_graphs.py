"""Long graphs of two shapes, and the configurations in which their time is measured."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType

from ort_vitis_plugin import VitisQuantFormat, VitisQuantType

CHANNELS, SIDE, BLOCK, SHARED = 4, 8, 8, 8
BODIES = 16  # one block of so many ends with an If: onnx infers shapes in time tensors x bodies

U8S8: dict[str, Any] = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
NPU: dict[str, Any] = {**U8S8, "enable_dpu": True, "extra_options": {"ActivationSymmetric": True}}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "NPU": NPU,
    "NPU, CLE": {**NPU, "include_cle": True},
    "NPU, not optimized": {**NPU, "optimize_model": False},
    "CPU per channel": {
        **U8S8,
        "calibrate_method": CalibrationMethod.MinMax,
        "per_channel": True,
        # Where integer kernels saturate, a second model with seven bits would be made and count double.
        "extra_options": {"Target": "cpu", "AvoidSaturation": False},
    },
    "bodies too": {**NPU, "extra_options": {"ActivationSymmetric": True, "EnableSubgraph": True}},
    "FixNeuron": {"quant_format": VitisQuantFormat.FixNeuron, "extra_options": {"ActivationSymmetric": True}},
    "Vitis QDQ": {
        "quant_format": VitisQuantFormat.QDQ,
        "activation_type": VitisQuantType.QInt16,
        "weight_type": VitisQuantType.QInt16,
    },
}


class OneSample(CalibrationDataReader):  # type: ignore[misc]
    """One N(0, 1) image, and the way that every If goes."""

    def __init__(self, model: ModelProto) -> None:
        image = np.random.default_rng(1).standard_normal((1, CHANNELS, SIDE, SIDE)).astype(np.float32)
        feed = {"x": image, "way": np.array(True)}
        self._rest: Iterator[dict[str, Any]] = iter([{value.name: feed[value.name] for value in model.graph.input}])

    def get_next(self) -> dict[str, Any] | None:
        return next(self._rest, None)


class Writer:
    """Nodes and constants of a graph under construction. No layer amplifies: biases keep the signal alive."""

    def __init__(self, channels: int = CHANNELS, side: int = SIDE, kernel: int = 1) -> None:
        self.channels, self.side, self.kernel = channels, side, kernel
        self.random = np.random.default_rng(0)
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, np.ndarray[Any, Any]] = {}

    def node(self, op_type: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, [output], f"{op_type}_{output}", **attributes))
        return output

    def conv(self, tensor: str, output: str, weight: str, times: int = 1) -> str:
        """Turns what ``times`` tensors of the network's width hold, at each position."""
        if weight not in self.constants:
            inputs, middle = times * self.channels, self.kernel // 2
            turn = np.linalg.qr(self.random.standard_normal((inputs, inputs)))[0][: self.channels]
            filters = np.zeros((self.channels, inputs, self.kernel, self.kernel), np.float32)
            filters[:, :, middle, middle] = turn
            self.constants[weight] = filters
            self.constants[f"{weight}_b"] = (self.random.standard_normal(self.channels) * 0.1).astype(np.float32)
        pads = {"pads": [self.kernel // 2] * 4} if self.kernel > 1 else {}
        return self.node("Conv", [tensor, weight, f"{weight}_b"], output, **pads)

    def model(self, output: str, *inputs: Any) -> ModelProto:
        image = [1, self.channels, self.side, self.side]
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, image), *inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, image)],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain(nodes: int, **size: int) -> ModelProto:
    """Conv+Relu pairs, one behind the other; ``size`` as Writer takes it."""
    writer, tensor = Writer(**size), "x"
    for number in range(nodes // 2):
        tensor = writer.node("Relu", [writer.conv(tensor, f"c{number}", f"w{number}")], f"r{number}")
    return writer.model(tensor)


def _branch(op_type: str, tensor: str, constant: str, number: int) -> GraphProto:
    """One node that reads a tensor and a constant of the graph around it."""
    made = f"{op_type.lower()}{number}"
    inner = helper.make_node(op_type, [tensor, constant], [made], f"inner_{made}")
    return helper.make_graph([inner], made, [], [helper.make_tensor_value_info(made, TensorProto.FLOAT, None)])


def branches(nodes: int) -> ModelProto:
    """Blocks of eight nodes: two Convs of shared weights, a residual Add, a Concat, a Conv back, a Mul or an If."""
    writer, tensor = Writer(), "x"
    writer.constants["half"] = np.array([0.5], np.float32)
    for number in range(nodes // BLOCK):
        shared = number // SHARED
        first = writer.node("Relu", [writer.conv(tensor, f"a{number}", f"wa{shared}")], f"ra{number}")
        second = writer.conv(first, f"b{number}", f"wb{shared}")
        added = writer.node("Relu", [writer.node("Add", [second, tensor], f"s{number}")], f"rs{number}")
        both = writer.node("Concat", [added, first], f"cat{number}", axis=1)
        back = writer.conv(both, f"d{number}", f"wd{number}", 2)
        if number % BODIES:
            tensor = writer.node("Mul", [back, "half"], f"m{number}")
            continue
        bodies = (_branch(op_type, back, "half", number) for op_type in ("Mul", "Sub"))
        tensor = writer.node(
            "If", ["way"], f"i{number}", **dict(zip(("then_branch", "else_branch"), bodies, strict=True))
        )
    return writer.model(tensor, helper.make_tensor_value_info("way", TensorProto.BOOL, []))


SHAPES = {"chain": chain, "branches": branches}
