"""Constants that are listed as inputs become constants alone."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ort_vitis_plugin.convert.graph_inputs import remove_initializers_from_inputs
from ort_vitis_plugin.testing import graph


def test_what_a_caller_feeds_stays() -> None:
    model = graph("t (float[2] x) => (float[2] y) { y = Add(x, w) }", 17, {"w": np.ones(2, np.float32)}, ir_version=3)
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]))
    before = model.SerializeToString()
    changed = remove_initializers_from_inputs(model)
    assert [value.name for value in changed.graph.input] == ["x"]
    assert changed.ir_version == 4  # 3 wants every initializer among the inputs
    assert model.SerializeToString() == before
