"""One body for each way in which an operator is used, valid in the lowest opset that it states."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin.custom_ops.domains import CONTRIB_DOMAIN, DEQUANTIZE, FIX_NEURON, QUANTIZE
from ort_vitis_plugin.custom_ops.function_bodies import function_body
from ort_vitis_plugin.custom_ops.op_usage import Use
from ort_vitis_plugin.custom_ops.storage_types import RANGES, STORAGE_TYPES
from ort_vitis_plugin.errors import UnsupportedError

KEYS = sorted(QUANTIZE | DEQUANTIZE | FIX_NEURON)


def uses(key: tuple[str, str]) -> list[Use]:
    kinds = sorted(RANGES if key in FIX_NEURON else STORAGE_TYPES)
    widths = frozenset({8}) if key in FIX_NEURON else frozenset[int]()
    attributes = {False: (), True: ("axis",)}
    return [
        Use(*key, frozenset(types), per_axis, True, widths, attributes[per_axis])
        for types in (*([kind] for kind in kinds), kinds)
        for per_axis in (False, True)
    ]


@pytest.mark.parametrize("key", KEYS, ids="::".join)
def test_every_operator_of_a_body_is_of_its_opset(key: tuple[str, str]) -> None:
    for use in uses(key):
        function = function_body(use, use.opset)
        assert (function.domain, function.name) == key
        assert list(function.output) == ["y"]
        for node in function.node:
            assert onnx.defs.has(node.op_type, use.opset), node.op_type
        written = [name for node in function.node for name in node.output]
        assert len(written) == len(set(written))
        assert written[-1] == "y"


def test_an_opset_below_is_refused_with_the_way_out() -> None:
    use = Use(*KEYS[-1], frozenset({TensorProto.INT8, TensorProto.INT16}), False, True)
    with pytest.raises(UnsupportedError, match=rf"needs opset {use.opset} .*convert_version"):
        function_body(use, use.opset - 1)


def test_eight_bits_of_the_extensions_are_onnxs_own_operators() -> None:
    use = Use(CONTRIB_DOMAIN, "FixNeuron", frozenset({TensorProto.INT8}), False, True, frozenset({8}))
    assert [node.op_type for node in function_body(use, 17).node] == ["QuantizeLinear", "DequantizeLinear"]
    wide = Use(CONTRIB_DOMAIN, "FixNeuron", frozenset({TensorProto.INT16}), False, True, frozenset({16}))
    assert "QuantizeLinear" not in [node.op_type for node in function_body(wide, 17).node]


def test_constants_have_the_type_in_which_they_are_used() -> None:
    for key in KEYS:
        for use in uses(key):
            for node in function_body(use, use.opset).node:
                if node.op_type == "Constant" and node.attribute[0].name == "value":
                    tensor = node.attribute[0].t
                    assert np.dtype(helper.tensor_dtype_to_np_dtype(tensor.data_type)).kind in "fi"
