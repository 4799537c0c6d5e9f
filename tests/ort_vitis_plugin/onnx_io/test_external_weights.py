"""Large weights lie beside the model, come back unchanged, and nobody sees a difference but in memory."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

import ort_vitis_plugin as vitis
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.onnx_io import external_weights
from ort_vitis_plugin.onnx_io.save import serialized
from ort_vitis_plugin.testing import graph, run_model

RNG = np.random.default_rng(0)


def model(dtype: Any = np.float32) -> ModelProto:
    """A transpose of weights, which folds, between two layers; an index that stays inside; a scalar."""
    constants = {
        "w": RNG.standard_normal((48, 64)).astype(dtype),
        "k": RNG.standard_normal((48, 48)).astype(dtype),
        "b": np.zeros(48, dtype),
        "i": np.arange(48),
    }
    body = "t = Transpose<perm = [1, 0]>(w) m = MatMul(x, t) a = Add(m, b) r = Relu(a) h = MatMul(r, k) "
    body += "y = Gather<axis = 1>(h, i)"
    kind = {np.float16: "float16", np.float64: "double"}.get(dtype, "float")
    source = graph(f"t ({kind}[2, 64] x) => ({kind}[] y) {{ {body} }}", 17, constants)
    source.producer_name, source.graph.doc_string = "test", "beside"
    return source


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_weights, "LARGE", 256)


def aside(found: ModelProto) -> set[str]:
    return {tensor.name for tensor in found.graph.initializer if external_weights.is_aside(tensor)}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_what_is_set_aside_comes_back_to_the_byte(dtype: Any) -> None:
    source = model(dtype)
    before = source.SerializeToString(deterministic=True)
    with external_weights.external_weights_scope():
        light = external_weights.externalize(source)
        assert aside(light) >= {"w", "k"}
        assert "i" not in aside(light)
        assert light.ByteSize() + external_weights.size(light) < source.ByteSize() + 300
        assert external_weights.internalized(light).SerializeToString(deterministic=True) == before
        assert aside(light) >= {"w", "k"}
        assert external_weights.internalize(light).SerializeToString(deterministic=True) == before
    assert source.SerializeToString(deterministic=True) == before


def test_without_a_shelf_everything_stays_inside() -> None:
    assert aside(external_weights.externalize(model())) == set()
    assert not external_weights.is_aside(external_weights.tensor_of(np.zeros((64, 64), np.float32), "w"))


def test_typed_fields_and_other_types_stay_inside() -> None:
    source = ModelProto()
    source.CopyFrom(model())
    values = RNG.standard_normal(100).astype(np.float32)
    source.graph.initializer.append(helper.make_tensor("listed", TensorProto.FLOAT, [100], values))
    source.graph.initializer.append(numpy_helper.from_array(np.zeros(100, np.int64), "shape"))
    with external_weights.external_weights_scope():
        assert aside(external_weights.externalize(source)) == {"w", "k"}


def test_a_graph_reads_adds_and_outlives_the_shelf() -> None:
    source = model()
    with external_weights.external_weights_scope():
        found = Graph(external_weights.externalize(source), copy=False)
        array = found.array("w")
        found.add_initializer("new", np.ones((64, 64), np.float32))
        assert external_weights.is_aside(found.initializers["new"])
        found.put_initializer(numpy_helper.from_array(np.zeros((64, 64), np.float32), "other"))
        assert external_weights.is_aside(found.initializers["other"])
    assert array is not None
    assert not array.flags.writeable
    np.testing.assert_array_equal(array, numpy_helper.to_array(source.graph.initializer[0]))
    assert aside(found.to_model()) == set()


def test_shelves_do_not_mix() -> None:
    with external_weights.external_weights_scope():
        light = external_weights.externalize(model())
        with external_weights.external_weights_scope():
            other = external_weights.externalize(model())
            assert aside(other) == aside(light)
        assert external_weights.internalize(light).ByteSize() == model().ByteSize()


@pytest.mark.parametrize("level", list(ort.GraphOptimizationLevel.__members__.values())[:3])
def test_a_session_gets_them(level: Any) -> None:
    source = model()
    feed = {"x": RNG.standard_normal((2, 64)).astype(np.float32)}
    with external_weights.external_weights_scope():
        light = external_weights.externalize(source)
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        session = external_weights.lend_to_session(light, options)
        del light
    gc.collect()
    np.testing.assert_array_equal(session.run(None, feed)[0], run_model(source, feed, level)["y"])


def test_a_checker_sees_inputs_in_their_place() -> None:
    with external_weights.external_weights_scope():
        light = external_weights.externalize(model())
        with pytest.raises(onnx.checker.ValidationError):
            onnx.checker.check_model(light)
        onnx.checker.check_model(external_weights.weights_as_inputs(light), full_check=True)


TYPES = {
    "QDQ": (QuantFormat.QDQ, QuantType.QInt8),
    "QOperator": (QuantFormat.QOperator, QuantType.QInt8),
    "Vitis QDQ": (vitis.VitisQuantFormat.QDQ, vitis.VitisQuantType.QInt16),
    "bfloat16": (vitis.VitisQuantFormat.QDQ, vitis.VitisQuantType.QBFloat16),
    "FixNeuron": (vitis.VitisQuantFormat.FixNeuron, QuantType.QInt8),
}


@pytest.mark.parametrize("target", ["cpu", "ipu_cnn"])
@pytest.mark.parametrize("case", TYPES)
def test_the_result_is_the_same(case: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quant_format, kind = TYPES[case]
    if target == "ipu_cnn" and case == "QOperator":
        pytest.skip("the NPU takes pairs")
    source = model()
    feeds = [{"x": RNG.standard_normal((2, 64)).astype(np.float32)} for _ in range(3)]
    method = CalibrationMethod.MinMax if target == "cpu" else vitis.PowerOfTwoMethod.MinMSE

    def quantize(output: Path) -> vitis.Result:
        return vitis.quantize_static(
            source,
            output,
            list(feeds),
            quant_format=quant_format,
            calibrate_method=method,
            activation_type=kind,
            weight_type=kind,
            extra_options={"Target": target},
        )

    beside = quantize(tmp_path / "beside.onnx")
    monkeypatch.setattr(external_weights, "LARGE", 1 << 40)
    inside = quantize(tmp_path / "inside.onnx")
    assert beside.model == inside.model
    assert (tmp_path / "beside.onnx").read_bytes() == (tmp_path / "inside.onnx").read_bytes()
    assert beside.report.sqnr == pytest.approx(inside.report.sqnr, abs=1e-3)
    assert beside.report.float_bytes == pytest.approx(inside.report.float_bytes, abs=300)


def test_parts_are_what_protobuf_writes() -> None:
    source = model()
    source.metadata_props.add(key="a", value="b")
    source.functions.add(name="f", domain="d")
    source.graph.initializer.append(numpy_helper.from_array(np.zeros(300_000, np.int8), "long"))
    assert b"".join(serialized(source)) == source.SerializeToString(deterministic=True)
    assert b"".join(serialized(ModelProto(ir_version=8))) in (b"\x08\x08", b"\x08\x08\x3a\x00")


def test_weights_that_nobody_reads() -> None:
    """onnxruntime takes no values from outside for them; bodies and outputs read too."""
    text = """t (float[1,4] x, bool c) => (float[1,2] y, float[128,128] read_3)
    {
        h = MatMul(x, w)
        y = If(c) <then_branch = p () => (float[1,2] u) { u = Add(h, read_1) },
                   else_branch = q () => (float[1,2] v) { v = Identity(read_2) }>
    }"""
    large = {f"read_{n}": np.ones((1, 2), np.float32) for n in (1, 2)} | {"read_3": np.ones((128, 128), np.float32)}
    unread = {f"unread_{n}": np.full((64, 1024), np.nan, np.float32) for n in range(3)}
    source = graph(text, constants={"w": np.ones((4, 2), np.float32), **large, **unread})
    samples = [{"x": np.ones((1, 4), np.float32), "c": np.array(way)} for way in (True, False)]
    assert vitis.quantize_static(source, None, samples).report.quantized


FOREIGN = (
    TensorProto.INT4,
    TensorProto.UINT4,
    TensorProto.FLOAT8E4M3FN,
    TensorProto.FLOAT8E5M2,
    TensorProto.BFLOAT16,
)


@pytest.mark.parametrize("kind", FOREIGN)
def test_weights_that_cannot_lie_beside_a_model_stay_in_it(kind: int) -> None:
    """They come back from the graph optimization beside another large weight, to the code."""
    codes = RNG.integers(0, 7, (64, 64)).astype(helper.tensor_dtype_to_np_dtype(kind))
    reader = "w = Cast<to = 1>(q)" if kind == TensorProto.BFLOAT16 else "w = DequantizeLinear(q, s)"
    source = graph(
        f"t (float[2, 64] x) => (float[2, 64] y) {{ {reader} h = MatMul(x, w) r = Relu(h) y = MatMul(r, k) }}",
        21,
        {"q": codes, "s": np.float32(0.01), "k": RNG.standard_normal((64, 64)).astype(np.float32)},
    )
    report = vitis.quantize_static(source, None, [{"x": RNG.standard_normal((2, 64)).astype(np.float32)}]).report
    assert report.sqnr["y"] > 25


BODIES = {
    "If": "m = ReduceMax<keepdims = 0>(h) c = Greater(m, zero) o = If(c) "
    "<then_branch = a () => (float[2, 32] t) {{ t = MatMul(h, {inner}) }}, "
    "else_branch = b () => (float[2, 32] e) {{ e = Neg(h) }}>",
    "Loop": "o = Loop(trip, cond, h) <body = b (int64 i, bool p, float[2, 32] s) => (bool q, float[2, 32] t) "
    "{{ q = Identity(p) t = MatMul(s, {inner}) }}>",
    "Scan": "z, o = Scan(zeros, h) <num_scan_inputs = 1, body = b (float[32] s, float[32] row) => "
    "(float[32] t, float[32] out) {{ out = MatMul(row, {inner}) t = Add(s, out) }}>",
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("op", BODIES)
def test_large_weights_in_bodies_stay_in_their_bodies(op: str, inside: bool) -> None:
    text = BODIES[op].format(inner="inner")
    source = graph(
        f"t (float[2, 32] x) => (float[2, 32] y) {{ h = MatMul(x, k) {text} y = MatMul(o, k) }}",
        17,
        {
            "k": RNG.standard_normal((32, 32)).astype(np.float32),
            "zero": np.float32(0),
            "trip": np.int64(2),
            "cond": np.bool_(True),
            "zeros": np.zeros(32, np.float32),
        },
    )
    weight = numpy_helper.from_array(RNG.standard_normal((32, 32)).astype(np.float32), "inner")
    owner = next(node for node in source.graph.node if node.op_type == op)
    next(
        entry.g for entry in owner.attribute if entry.HasField("g") and entry.name != "else_branch"
    ).initializer.append(weight)
    feeds = [{"x": RNG.standard_normal((2, 32)).astype(np.float32)}]
    result = vitis.quantize_static(source, None, feeds, extra_options={"EnableSubgraph": inside})
    assert result.report.sqnr["y"] > 20
    found = list(external_weights.tensors(result.model.graph))
    assert found
    assert all(tensor.data_location != TensorProto.EXTERNAL for tensor in found)


def test_a_copy_of_fields_has_messages_texts_numbers_and_lists() -> None:
    source = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }")
    source.producer_name, source.ir_version = "p", 9
    target = onnx.ModelProto()
    external_weights.copy_fields(source, target, "producer_name")
    assert target.producer_name == ""
    target.producer_name = "p"
    assert target.SerializeToString(deterministic=True) == source.SerializeToString(deterministic=True)
