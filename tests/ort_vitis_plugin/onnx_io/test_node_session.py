"""One node alone gives what it gives in a file; None stands for one that onnxruntime has no kernel for."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ort_vitis_plugin.onnx_io.node_session import node_session
from ort_vitis_plugin.onnx_io.sessions import AS_WRITTEN, open_session

FLOAT = TensorProto.FLOAT


@pytest.mark.parametrize("held", [True, False], ids=["constant", "input"])
def test_a_product_has_the_bits_that_it_has_in_a_file(held: bool) -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=shape).astype(np.float32) for shape in ((5, 700), (700, 20)))
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    values = [helper.make_tensor_value_info(name, FLOAT, None) for name in ("x", "w", "y")]
    inputs = values[:1] if held else values[:2]
    constants = {"w": w} if held else {}
    graph = helper.make_graph([node], "g", inputs, values[2:], [numpy_helper.from_array(w, "w")] if held else [])
    file = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feed = {value.name: {"x": x, "w": w}[value.name] for value in inputs}
    wanted = open_session(file, level=AS_WRITTEN).run(None, feed)[0]
    session = node_session(node, dict.fromkeys(feed, FLOAT), 17, constants)
    assert session is not None
    assert np.array_equal(session.run(None, feed)[0], wanted)


def test_a_node_without_a_kernel_has_no_session() -> None:
    assert node_session(helper.make_node("NoSuchOperator", ["x"], ["y"]), {"x": FLOAT}, 17, {}) is None
    assert node_session(helper.make_node("Erf", ["x"], ["y"]), {"x": TensorProto.STRING}, 17, {}) is None
