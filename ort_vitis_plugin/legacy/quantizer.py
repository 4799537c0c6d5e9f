"""The old tool took parameters literally, and quantized dynamic inputs by steps that today's onnxruntime lacks."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantizationMode, QuantType
from onnxruntime.quantization.base_quantizer import QuantizationParams
from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer
from onnxruntime.quantization.quant_utils import add_infer_metadata, compute_scale_zp, get_qmin_qmax_for_qType

from .arguments import OP_TYPES

INT32_LOW, INT32_HIGH = -2147483648.0, 2147483520.0  # the ends of int32 that float32 represents


class LegacyQuantizer(ONNXQuantizer):  # type: ignore[misc]
    """ORT's quantizer with given parameters taken literally, and what it lacks for dynamic inputs."""

    def __init__(
        self,
        model: ModelProto,
        given: Mapping[str, tuple[np.uint8, np.float32]],
        *,
        mode: QuantizationMode,
        static: bool,
        per_channel: bool,
        weight_type: QuantType,
        fused: bool,
        nodes_to_quantize: Sequence[str],
    ) -> None:
        self.given = given
        add_infer_metadata(model)
        super().__init__(
            model,
            per_channel,
            False,
            mode,
            True,  # static: the constructor would rewrite every Gemm otherwise, which the old tool left alone
            weight_type,
            QuantType.QUInt8,
            None,
            list(nodes_to_quantize),
            [],
            list(OP_TYPES),
            {"MatMulConstBOnly": not static},
        )
        self.static = static
        self.fuse_dynamic_quant = fused

    def calculate_quantization_params(self) -> dict[str, QuantizationParams]:
        return {
            name: QuantizationParams(
                zero_point=np.array(zero_point), scale=np.array(scale), quant_type=self.activation_qType
            )
            for name, (zero_point, scale) in self.given.items()
        }

    def missing(self, node: NodeProto) -> list[str]:
        """Tensors around a node whose parameters the mode needs and the caller did not give."""
        needed = [name for name in node.input[:2] if name not in self.initializers] if self.static else []
        if self.mode == QuantizationMode.QLinearOps:
            needed.append(node.output[0])
        return [name for name in needed if name not in self.given]

    def should_quantize_node(self, node: NodeProto) -> bool:
        return self.is_selected(node) and not self.missing(node)

    def is_selected(self, node: NodeProto) -> bool:
        """Whether the call asks for the node, whatever is known of its tensors."""
        return bool(super().should_quantize_node(node))

    def quantize_bias_static(self, bias_name: str, input_name: str, weight_name: str, beta: float = 1.0) -> str:
        """round(bias / (input scale * weight scale)): by ORT where all three are constant, else at run time."""
        scales = [self.quantized_value_map[name].scale_name for name in (input_name, weight_name)]
        constants = {tensor.name for tensor in self.model.initializer()}
        if constants.issuperset((bias_name, *scales)):
            return str(super().quantize_bias_static(bias_name, input_name, weight_name, beta))
        prefix = f"{bias_name}_under_{input_name}_and_{weight_name}"
        self._constant(f"{prefix}_low", INT32_LOW)
        self._constant(f"{prefix}_high", INT32_HIGH)
        self.new_nodes += [
            helper.make_node("Mul", scales, [f"{prefix}_scale"], f"{prefix}_Mul"),
            helper.make_node("Div", [bias_name, f"{prefix}_scale"], [f"{prefix}_real"], f"{prefix}_Div"),
            helper.make_node("Round", [f"{prefix}_real"], [f"{prefix}_rounded"], f"{prefix}_Round"),
            helper.make_node(
                "Clip",
                [f"{prefix}_rounded", f"{prefix}_low", f"{prefix}_high"],
                [f"{prefix}_clipped"],
                f"{prefix}_Clip",
            ),
            helper.make_node(
                "Cast", [f"{prefix}_clipped"], [f"{prefix}_quantized"], f"{prefix}_Cast", to=TensorProto.INT32
            ),
        ]
        return f"{prefix}_quantized"

    def _get_dynamic_input_quantization_params_uint8(
        self, input_name: str, nodes_list: list[NodeProto], initial_type: int
    ) -> tuple[str, str, list[int], list[int]]:
        """scale = (max(x, 0) - min(x, 0)) / 255, zero point = round(-min(x, 0) / scale), as DynamicQuantizeLinear."""
        del initial_type
        scale, zero_point = f"{input_name}_scale", f"{input_name}_zero_point"
        names = {"x": input_name, "scale": scale, "zero_point": zero_point}
        for key, value in (("zero", 0.0), ("levels", 255.0), ("smallest", float(np.finfo(np.float32).tiny))):
            names[key] = f"{input_name}_dynamic_{key}"
            self._constant(names[key], value)
        steps: list[tuple[str, list[str], str, dict[str, Any]]] = [
            ("ReduceMin", ["x"], "lowest", {"keepdims": 0}),
            ("Min", ["lowest", "zero"], "low", {}),
            ("ReduceMax", ["x"], "highest", {"keepdims": 0}),
            ("Max", ["highest", "zero"], "high", {}),
            ("Sub", ["high", "low"], "range", {}),
            ("Div", ["range", "levels"], "step", {}),
            ("Max", ["step", "smallest"], "scale", {}),  # an input of zeros has step 0
            ("Sub", ["zero", "low"], "depth", {}),
            ("Div", ["depth", "scale"], "offset", {}),
            ("Round", ["offset"], "rounded", {}),
            ("Clip", ["rounded", "zero", "levels"], "clipped", {}),
            ("Cast", ["clipped"], "zero_point", {"to": TensorProto.UINT8}),
        ]
        for op_type, inputs, key, attributes in steps:
            output = names.setdefault(key, f"{input_name}_dynamic_{key}")
            nodes_list.append(
                helper.make_node(
                    op_type, [names[name] for name in inputs], [output], f"{output}_{op_type}", **attributes
                )
            )
        return scale, zero_point, [], []

    def _constant(self, name: str, value: float) -> None:
        self.model.add_initializer(numpy_helper.from_array(np.array(value, np.float32), name))


def uint8_parameters(low: Any, high: Any) -> tuple[np.uint8, np.float32]:
    """Zero point and scale of a uint8 activation with values in [low, high], as onnxruntime computes them."""
    qmin, qmax = get_qmin_qmax_for_qType(TensorProto.UINT8)
    zero_point, scale = compute_scale_zp(np.array(low, np.float32), np.array(high, np.float32), qmin, qmax)
    return np.uint8(zero_point), np.float32(scale)
