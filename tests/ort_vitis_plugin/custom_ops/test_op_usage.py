"""What the nodes of one name have in common decides which opset and which attributes their function needs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin.custom_ops.domains import CONTRIB_DOMAIN, OURS, VAI_DOMAIN
from ort_vitis_plugin.custom_ops.op_usage import Tensors, Use, bit_width_of, our_nodes, use_of
from ort_vitis_plugin.errors import ModelError, UnsupportedError
from tests.ort_vitis_plugin.custom_ops.test_functions import model_of

KEY = (VAI_DOMAIN, "VitisQuantizeLinear")


def use(*types: type, scale: object = 0.25) -> Use:
    model = model_of(*((*KEY, dtype, {}) for dtype in types), scale=scale)
    return use_of(KEY, our_nodes(model)[KEY], Tensors(model))


def test_one_type_and_one_scale_need_little() -> None:
    found = use(np.int8)
    assert (found.types, found.per_axis, found.mixed, found.opset) == ({TensorProto.INT8}, False, False, 10)


def test_several_types_must_be_found_out_at_run_time() -> None:
    found = use(np.int8, np.int16)
    assert found.mixed
    assert found.opset == 15


def test_channels_need_their_axis() -> None:
    found = use(np.int8, scale=[0.25, 0.5, 1.0])
    assert found.per_axis
    assert found.attributes == ("axis",)
    assert found.opset == 13


def test_eight_bits_of_the_extensions_are_native() -> None:
    key = (CONTRIB_DOMAIN, "FixNeuron")
    for width, native in ((8, True), (4, False)):
        model = model_of((*key, np.int8, {"bit_width": width}))
        assert use_of(key, our_nodes(model)[key], Tensors(model)).native == native


@pytest.mark.parametrize("width", ["", "many", 0, 33, -4])
def test_a_bit_width_that_is_none_is_told(width: object) -> None:
    with pytest.raises(ModelError, match="must be an integer from 1 to 32"):
        bit_width_of(helper.make_node("FixNeuron", ["x"], ["y"], "one", bit_width=width))


def test_a_zero_point_of_another_type_is_told() -> None:
    with pytest.raises(UnsupportedError, match="has a zero point of type INT64"):
        use(np.int64)


@pytest.mark.parametrize(("domain", "op_type"), sorted(OURS))
@pytest.mark.parametrize(("inputs", "outputs"), [([], ["y"]), (["x"], ["y"]), (["", "s"], ["y"]), (["x", "s"], [])])
def test_a_node_that_lacks_an_operand_is_told(domain: str, op_type: str, inputs: list[str], outputs: list[str]) -> None:
    node = helper.make_node(op_type, inputs, outputs, "n", domain=domain)
    with pytest.raises(ModelError, match=f"{op_type} node 'n' lacks its tensor, its scale or its result"):
        use_of((domain, op_type), [node], Tensors(onnx.ModelProto()))


def test_constants_and_quantizers_that_give_nothing_are_no_tensors() -> None:
    model = onnx.ModelProto()
    model.graph.node.append(helper.make_node("Constant", [], ["c"]))
    model.graph.node.append(helper.make_node("VitisQuantizeLinear", ["x", "s"], [], domain=VAI_DOMAIN))
    assert Tensors(model).types == {}
