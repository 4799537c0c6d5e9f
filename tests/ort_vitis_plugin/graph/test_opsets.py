"""ONNX's schemas say since when an operator takes what."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import defs

from ort_vitis_plugin.graph.opsets import AXIS_OPSET, CLIP_ON_CODES_OPSET, WIDE_OPSET


def takes(op_type: str, opset: int, element_type: str) -> bool:
    constraints = defs.get_schema(op_type, opset).type_constraints
    return any(f"tensor({element_type})" in constraint.allowed_type_strs for constraint in constraints)


@pytest.mark.parametrize(("opset", "found"), [(CLIP_ON_CODES_OPSET - 1, False), (CLIP_ON_CODES_OPSET, True)])
def test_clip_takes_codes(opset: int, found: bool) -> None:
    assert takes("Clip", opset, "uint8") is takes("Clip", opset, "int8") is found


@pytest.mark.parametrize("op_type", ["QuantizeLinear", "DequantizeLinear"])
@pytest.mark.parametrize(("opset", "found"), [(AXIS_OPSET - 1, False), (AXIS_OPSET, True)])
def test_pairs_have_an_axis(op_type: str, opset: int, found: bool) -> None:
    assert ("axis" in defs.get_schema(op_type, opset).attributes) is found


@pytest.mark.parametrize("op_type", ["QuantizeLinear", "DequantizeLinear"])
@pytest.mark.parametrize(("opset", "found"), [(WIDE_OPSET - 1, False), (WIDE_OPSET, True)])
def test_pairs_take_wide_codes_and_blocks(op_type: str, opset: int, found: bool) -> None:
    assert all(takes(op_type, opset, kind) is found for kind in ("int16", "uint16", "int4"))
    assert ("block_size" in defs.get_schema(op_type, opset).attributes) is found
