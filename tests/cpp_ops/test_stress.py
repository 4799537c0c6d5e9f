"""Many threads on one session, many sessions, and arguments that no converter would write."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.errors import QuantizationError

DTYPES = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.float16, ml_dtypes.bfloat16]


def chain() -> onnx.ModelProto:
    """x through a Q and DQ of each type, per channel, then a FixNeuron."""
    nodes, initializers, value = [], [], "x"
    for index, dtype in enumerate(DTYPES):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        s, z, q, y = (f"{name}{index}" for name in "szqy")
        initializers.append(helper.make_tensor(s, TensorProto.FLOAT, [3], [0.01, 0.02, 0.5]))
        initializers.append(helper.make_tensor(z, kind, [3], np.ones(3, dtype).tobytes(), raw=True))
        nodes.append(helper.make_node("VitisQuantizeLinear", [value, s, z], [q], domain=custom_ops.VAI_DOMAIN, axis=1))
        nodes.append(helper.make_node("VitisDequantizeLinear", [q, s, z], [y], domain=custom_ops.VAI_DOMAIN, axis=1))
        value = y
    nodes.append(helper.make_node("FixNeuron", [value, "s0", "z1"], ["y"], domain=custom_ops.VAI_DOMAIN, axis=1))
    shape = ["N", 3, 128, 128]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_eight_threads_on_one_session(open_session: Any) -> None:
    session = open_session(chain(), threads=2)
    inputs = np.random.default_rng(1).standard_normal((8, 2, 3, 128, 128)).astype(np.float32) * 3
    alone = [session.run(None, {"x": x})[0] for x in inputs]

    def work(index: int) -> bool:
        return all(np.array_equal(session.run(None, {"x": inputs[index]})[0], alone[index]) for _ in range(20))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def resident() -> int:
    """Kilobytes in memory now."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() // 1024


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_thousand_sessions(library: str, one_node: Any) -> None:
    model = one_node("VitisQuantizeLinear", 0.1, np.int16(0)).SerializeToString()
    x = np.ones((1, 3), np.float32)

    def open_and_close(count: int) -> None:
        for _ in range(count):
            options = ort.SessionOptions()
            options.intra_op_num_threads = 1
            options.register_custom_ops_library(library)
            ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})

    open_and_close(200)
    before = resident()
    open_and_close(1000)
    assert resident() - before < 4096


def test_fuzz(open_session: Any) -> None:
    """The kernels do what the reference does with any shapes, axes, scales and zero points, or refuse as it does."""
    rng = np.random.default_rng(2024)
    accepted = refused = 0
    sessions = {}
    for step in range(1500):
        dtype = np.dtype(DTYPES[rng.integers(7)])  # numpy cannot hand bfloat16 to ORT
        axis = int(rng.integers(-4, 5))
        if (dtype, axis) not in sessions:
            sessions[dtype, axis] = open_session(free_model(dtype, axis))
        shape = tuple(rng.choice([0, 1, 2, 3, 5, 17], rng.integers(0, 5)))
        fits = shape[axis] if -len(shape) <= axis < len(shape) and rng.random() < 0.7 else rng.integers(0, 6)
        dims = (int(fits),) if rng.random() < 0.6 else ((), (1,), (1, 1), (1, 2))[rng.integers(4)]
        factor = np.asarray(rng.choice([1, 1.1], dims), np.float32)
        scale = np.asarray(np.exp2(rng.integers(-40, 40, dims)) * factor, np.float32)
        if scale.size and rng.random() < 0.1:
            scale.reshape(-1)[rng.integers(scale.size)] = rng.choice([0, -1, np.nan, np.inf])
        size = scale.size if rng.random() < 0.9 else int(rng.integers(0, 5))
        zero_dims = dims if size == scale.size else (size,)
        zero = np.asarray(rng.integers(0, 200, zero_dims)).astype(dtype)
        x = np.asarray(rng.integers(0, 2**32, shape, np.uint32)).view(np.float32)
        codes = np.asarray(rng.integers(-100, 100, shape)).astype(dtype)
        try:
            want: list[Any] | None = [
                custom_ops.quantize_linear(x, scale, zero, axis),
                custom_ops.dequantize_linear(codes, scale, zero, axis),
            ]
        except QuantizationError:
            want = None
        feeds = {"x": x, "s": scale, "z": zero, "c": codes}
        if want is None:
            refused += 1
            with pytest.raises(Exception, match=r"node '[qd]'"):
                sessions[dtype, axis].run(None, feeds)
            continue
        accepted += 1
        got = sessions[dtype, axis].run(None, feeds)
        for left, right in zip(got, want, strict=True):
            np.testing.assert_array_equal(left, right, err_msg=str(step))
    assert accepted > 300
    assert refused > 300


def free_model(dtype: Any, axis: int) -> onnx.ModelProto:
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    domain = custom_ops.VAI_DOMAIN
    graph = helper.make_graph(
        [
            helper.make_node("VitisQuantizeLinear", ["x", "s", "z"], ["y"], name="q", domain=domain, axis=axis),
            helper.make_node("VitisDequantizeLinear", ["c", "s", "z"], ["b"], name="d", domain=domain, axis=axis),
        ],
        "free",
        [
            helper.make_tensor_value_info(name, element, None)
            for name, element in (("x", TensorProto.FLOAT), ("s", TensorProto.FLOAT), ("z", kind), ("c", kind))
        ],
        [helper.make_tensor_value_info("y", kind, None), helper.make_tensor_value_info("b", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
