"""The ops go by the names of three domains: of vai_q_onnx, of AMD Quark, and of onnxruntime-extensions."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import ModelProto

VAI_DOMAIN = "com.vai.quantize"
QUARK_DOMAIN = "com.amd.quark"
CONTRIB_DOMAIN = "ai.onnx.contrib"

QUANTIZE = frozenset(
    {
        (VAI_DOMAIN, "VitisQuantizeLinear"),
        (QUARK_DOMAIN, "ExtendedQuantizeLinear"),
        (CONTRIB_DOMAIN, "QuantizeLinear"),
    }
)
DEQUANTIZE = frozenset(
    {
        (VAI_DOMAIN, "VitisDequantizeLinear"),
        (QUARK_DOMAIN, "ExtendedDequantizeLinear"),
        (CONTRIB_DOMAIN, "DequantizeLinear"),
    }
)
FIX_NEURON = frozenset({(VAI_DOMAIN, "FixNeuron"), (CONTRIB_DOMAIN, "FixNeuron")})
# Numbers that share an exponent, quantized and dequantized in one node; in AMD's two spellings.
BLOCK_PAIRS = frozenset(
    {
        (VAI_DOMAIN, "BFPFixNeuron"),
        (VAI_DOMAIN, "MXFixNeuron"),
        (QUARK_DOMAIN, "BFPQuantizeDequantize"),
        (QUARK_DOMAIN, "MXQuantizeDequantize"),
    }
)
OURS = QUANTIZE | DEQUANTIZE | FIX_NEURON


def imports_ours(model: ModelProto) -> bool:
    """Whether the model, or a local function of it, may hold operators of one of the three domains."""
    imports = [entry for part in (model, *model.functions) for entry in part.opset_import]
    return any(entry.domain in (VAI_DOMAIN, QUARK_DOMAIN, CONTRIB_DOMAIN) for entry in imports)
