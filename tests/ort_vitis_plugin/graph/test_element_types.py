"""Every element type of ONNX that computes with fractions in 16 bits or more is a float here, and no other is."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re

from onnx import TensorProto

from ort_vitis_plugin.graph.element_types import EIGHT_BITS, FLOAT_OR_UNKNOWN, FLOATS, QUANTIZED_FLOATS, SIXTEEN_BITS


def test_floats_are_those_that_onnx_calls_so() -> None:
    kinds = TensorProto.DataType.items()
    named = {number for name, number in kinds if re.fullmatch(r"DOUBLE|B?FLOAT(16)?", name)}
    assert len(named) == 4
    assert named == FLOATS
    assert {TensorProto.UNDEFINED} == FLOAT_OR_UNKNOWN - FLOATS
    assert QUANTIZED_FLOATS < FLOATS


def test_codes_of_a_width_are_signed_or_not() -> None:
    for bits, found in ((8, EIGHT_BITS), (16, SIXTEEN_BITS)):
        assert found == {
            number for name, number in TensorProto.DataType.items() if name in (f"INT{bits}", f"UINT{bits}")
        }
