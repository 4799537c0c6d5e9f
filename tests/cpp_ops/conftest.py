"""Fixtures of the tests that need the compiled library."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops


@pytest.fixture
def library() -> str:
    """Path of the compiled library; `.ci/run` builds it."""
    found = custom_ops.find_library()
    if found is None:
        pytest.skip("no compiled library here; cmake -S . -B build && cmake --build build makes one")
    return str(found)


Opener = Callable[..., ort.InferenceSession]


@pytest.fixture
def open_session(library: str) -> Opener:
    """Opens a session with the library."""

    def open_one(model: onnx.ModelProto, threads: int = 1) -> ort.InferenceSession:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        options.register_custom_ops_library(library)
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    return open_one


@pytest.fixture
def one_node() -> Callable[..., onnx.ModelProto]:
    """Builds a model of one op of ours; scale and zero point are initializers, x and the output have no shape."""

    def build(
        op_type: str, scale: Any, zero_point: Any, *, domain: str = custom_ops.VAI_DOMAIN, **attributes: Any
    ) -> onnx.ModelProto:
        scale, zero_point = np.asarray(scale, np.float32), np.asarray(zero_point)
        kind = helper.np_dtype_to_tensor_dtype(zero_point.dtype)
        into = kind if "Dequantize" in op_type else TensorProto.FLOAT
        out = kind if op_type.endswith(("VitisQuantizeLinear", "ExtendedQuantizeLinear")) else TensorProto.FLOAT
        node = helper.make_node(op_type, ["x", "s", "z"], ["y"], name="the_node", domain=domain, **attributes)
        graph = helper.make_graph(
            [node],
            "one_node",
            [helper.make_tensor_value_info("x", into, None)],
            [helper.make_tensor_value_info("y", out, None)],
            [
                helper.make_tensor("s", TensorProto.FLOAT, scale.shape, scale.ravel()),
                helper.make_tensor("z", kind, zero_point.shape, zero_point.tobytes(), raw=True),
            ],
        )
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)

    return build
