"""Vitis QDQ: VitisQuantizeLinear and VitisDequantizeLinear of com.vai.quantize, 8 to 32 bits and half floats."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping

from ort_vitis_plugin.api import (
    Format,
    OptionGroup,
    PairWriter,
    QType,
    Scaling,
    TensorPlan,
    VitisQuantFormat,
    option,
    qtype,
)


class VitisQDQOptions(OptionGroup):
    """How 8-bit pairs of VitisQuantFormat.QDQ are written."""

    use_qdq_vitis_custom_ops: bool = option(
        True,
        "Write 8-bit pairs for our custom-op library; False: for onnxruntime-extensions (domain ai.onnx.contrib).",
        key="UseQDQVitisCustomOps",
        formats=("VitisQuantFormat.QDQ",),
    )


class VitisQDQWriter(PairWriter):
    """Float weights keep their pair, as the original writes them; biases never saturate."""

    minimum_opset = 15  # the functions of mixed types compute with CastLike
    takes_float16 = False
    owns_parameters = True
    ignores = frozenset({"AddQDQPairToWeight", "QDQDisableWeightAdjustForInt32Bias", "UseQDQContribOps"})
    keeps_stored_codes = has_blocks = False

    def domain(self, kind: QType) -> str:
        return "com.vai.quantize" if self._is_vitis(kind) else "ai.onnx.contrib"

    def operator(self, kind: QType, *, dequantize: bool) -> str:
        name = "DequantizeLinear" if dequantize else "QuantizeLinear"
        return f"Vitis{name}" if self._is_vitis(kind) else name

    def keeps_float_weights(self, kind: QType) -> bool:
        return True

    def has_product_bias(self, weight: QType) -> bool:
        return False

    def bias_kind(self, weight: QType) -> QType | None:
        """int32 with a scale of its own, unless the device, a half-float weight type or the 8-bit library says no."""
        if (
            self.settings.target.bias_as_weight
            or not weight.is_integer
            or weight.bits == 32
            or not self._is_vitis(weight)
        ):
            return weight
        return qtype("QInt32")

    def attributes(self, planned: TensorPlan, *, dequantize: bool) -> Mapping[str, object]:
        if self._is_vitis(planned.kind) or planned.position is None:
            return {}
        return {"bit_width": "8", "pos": str(planned.position)}

    def _is_vitis(self, kind: QType) -> bool:
        return kind.bits != 8 or bool(self.settings.options[VitisQDQOptions].use_qdq_vitis_custom_ops)


def _accepts(kind: QType) -> bool:
    return (kind.is_integer and kind.bits >= 8) or kind.scaling is Scaling.UNIT


VITIS_QDQ = Format(
    VitisQuantFormat.QDQ,
    "VitisQuantizeLinear and VitisDequantizeLinear, 8 to 32 bits, float16 and bfloat16.",
    VitisQDQWriter,
    _accepts,
)
