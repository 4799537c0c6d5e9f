"""One float operator between pairs, and what holds for the operator on codes that takes their place.

Weights keep to seven bits where activations are uint8: kernels without VNNI add pairs of products in 16 bits.
"""

# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ort_vitis_plugin.convert import qdq_to_qoperator
from ort_vitis_plugin.graph import Skip
from ort_vitis_plugin.testing import LEVELS, random_feeds, run_model

U8, I8 = np.dtype(np.uint8), np.dtype(np.int8)
STEP = 0.02
SOFTMAX_EXACT = 0.5  # onnxruntime's table of exponentials is rounded to integers


class Pairs:
    """Builds one float operator between dequantize and quantize nodes."""

    def __init__(self, kind: np.dtype[Any], opset: int = 17) -> None:
        self.kind, self.opset = kind, opset
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.zero = np.iinfo(kind).min + 100

    def parameters(self, name: str, scale: Any, zero: Any, kind: np.dtype[Any]) -> list[str]:
        self.constants[f"{name}_scale"] = np.asarray(scale, np.float32)
        self.constants[f"{name}_zero_point"] = np.asarray(zero, kind)
        return [f"{name}_scale", f"{name}_zero_point"]

    def activation(self, name: str, shape: list[int], scale: float = STEP, kind: np.dtype[Any] | None = None) -> str:
        kind = kind or self.kind
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        ends = self.parameters(name, scale, np.iinfo(kind).min + 100, kind)
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *ends], [f"{name}_Q"], f"{name}_QuantizeLinear"))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_Q", *ends], [f"{name}_DQ"], f"{name}_DQ"))
        return f"{name}_DQ"

    def weight(
        self, name: str, codes: np.ndarray, scale: Any, zero: Any = 0, axis: int | None = None, bits: int = 8
    ) -> str:
        ends = self.parameters(name, scale, zero, codes.dtype if bits == 8 else np.dtype(np.int32))
        self.constants[f"{name}_quantized"] = codes
        attributes = {} if axis is None else {"axis": axis}
        self.nodes.append(
            helper.make_node("DequantizeLinear", [f"{name}_quantized", *ends], [name], f"{name}_DQ", **attributes)
        )
        return name

    def output(self, tensor: str, name: str, scale: float, zero: int, kind: np.dtype[Any] | None = None) -> None:
        ends = self.parameters(name, scale, zero, kind or self.kind)
        self.nodes.append(helper.make_node("QuantizeLinear", [tensor, *ends], [f"{name}_Q"], f"{name}_QuantizeLinear"))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_Q", *ends], [name], f"{name}_DQ"))

    def op(self, op_type: str, inputs: list[str], outputs: list[str] | None = None, **attributes: Any) -> None:
        name = "op" if all(node.name != "op" for node in self.nodes) else f"op_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, outputs or ["t"], name, **attributes))

    def model(self, *outputs: str, kind: int = TensorProto.FLOAT) -> ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "pairs",
            self.inputs,
            [helper.make_tensor_value_info(name, kind, None) for name in outputs or ("y",)],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return onnx.shape_inference.infer_shapes(model, data_prop=True)


def converted(model: ModelProto, skips: list[Skip] | None = None) -> ModelProto:
    before = model.SerializeToString(deterministic=True)
    result = qdq_to_qoperator(model, skips)
    assert model.SerializeToString(deterministic=True) == before
    onnx.checker.check_model(result, full_check=True)
    return result


def types(model: ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def check_codes(before: ModelProto, after: ModelProto, step: float, most: float = 1.0, exact: float = 0.9) -> None:
    """Both levels of the result agree with the unoptimized pairs within ``most`` codes, most of them exactly."""
    feeds = random_feeds(before)
    wanted = run_model(before, feeds, LEVELS[0])
    assert any(np.ptp(values) > 10 * step for values in wanted.values()), "the model says too little"
    for level in LEVELS:
        for name, values in run_model(after, feeds, level).items():
            codes = np.abs(values.astype(np.float64) - wanted[name]) / step
            assert codes.max() <= most + 1e-3, f"{name} at {level}: {codes.max()} codes"
            assert np.mean(codes < 0.5) >= exact, f"{name} at {level}: {np.mean(codes < 0.5):.0%} exact"


def finish(pairs: Pairs, low: float, high: float) -> tuple[ModelProto, float]:
    """The result of "t" takes the range [low, high]."""
    step = (high - low) / 255
    pairs.output("t", "y", step, round(np.iinfo(pairs.kind).min - low / step))
    return pairs.model(), step


def codes(shape: tuple[int, ...], kind: np.dtype[Any], seed: int = 0) -> np.ndarray:
    """Codes within seven bits around 0, or around 64 for uint8."""
    values = np.random.default_rng(seed).integers(-63, 64, shape)
    return (values + 64 * (kind == U8)).astype(kind)
