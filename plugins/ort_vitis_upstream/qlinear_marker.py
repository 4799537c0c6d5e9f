"""Where quantized operators are written, onnxruntime marks other nodes than where pairs are.

Pad, GlobalAveragePool, ArgMax        only behind codes: alone they gain nothing; a pad value that is computed takes
                                      the codes of what it pads
AveragePool                           also at the start: its kernel on codes is the faster one; means have a scale of
                                      their own, for they span less than what they are of
Sum, Min, Max                         never: no operator computes them on codes
ConvTranspose, TopK, normalizations   likewise, unless the target is a device, which takes pairs
Relu, Clip of symmetric activations   likewise: saturation does not replace them, and no operator computes them on codes
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxruntime.quantization.operators.direct_q8 import QDQDirect8BitOp

from ort_vitis_plugin.api import CLAMP_OPS, Marker, OrtOptions, QDQOperatorBase, has_input

if TYPE_CHECKING:
    from onnx import NodeProto

BEHIND_CODES = frozenset({"Pad", "GlobalAveragePool", "ArgMax"})
NOWHERE = frozenset({"Sum", "Min", "Max"})
ANYWHERE = frozenset({"AveragePool"})
FLOAT_ALONE = frozenset(
    {"BatchNormalization", "ConvTranspose", "CumSum", "InstanceNormalization", "LayerNormalization", "TopK"}
)


class Unmarked(QDQOperatorBase):  # type: ignore[misc]
    """A node that marks nothing."""

    def quantize(self) -> None:
        return


class ComputedPad(QDQOperatorBase):  # type: ignore[misc]
    """A Pad whose value is none of its activations."""

    def quantize(self) -> None:
        self.quantizer.quantize_activation_tensor(self.node.input[0])
        self.quantizer.quantize_activation_tensor(self.node.output[0])


class QLinearMarker(Marker):
    """Marks what onnxruntime's registry of quantized operators quantizes."""

    def handler(self, node: NodeProto) -> QDQOperatorBase:
        has_codes = self.is_tensor_quantized(node.input[0]) if node.input else False
        if node.op_type in NOWHERE or (node.op_type in BEHIND_CODES and not has_codes):
            return Unmarked(self, node)
        is_symmetric = self.settings.options[OrtOptions].activation_symmetric
        is_float_alone = node.op_type in FLOAT_ALONE or (node.op_type in CLAMP_OPS and is_symmetric)
        if is_float_alone and not self._has_device():
            return Unmarked(self, node)
        if node.op_type == "Pad" and self._computes_value(node):
            return ComputedPad(self, node)
        handler = super().handler(node)
        if node.op_type not in ANYWHERE:
            return handler
        if not has_codes:
            self.quantize_activation_tensor(node.input[0])
        return QDQOperatorBase(self, node) if isinstance(handler, QDQDirect8BitOp) else handler

    def _computes_value(self, node: NodeProto) -> bool:
        return has_input(node, 2) and self.graph.array(node.input[2]) is None

    def _has_device(self) -> bool:
        targets = map(self.settings.catalog.target, self.settings.lineage)
        return any(target.placement is not None for target in targets)
