"""What users of onnxruntime do around a call gives what its own code gives: types, opsets, files, bodies, its tools."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize, registry

import ort_vitis_plugin as vitis
from ort_vitis_plugin.errors import QuantizationError
from tests.kinds.checks import Arguments, assert_close, constants_of, dequantizer, model, nodes, samples, weights
from tests.models.networks import FeedReader

from .both import PLAINLY, compared, decibels, ours, parameters, theirs
from .operators import source
from .test_operators import FAITHFUL, QOPERATOR, S8S8, U8S8, U8U8

RECENT = tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 32)
recent = pytest.mark.skipif(not RECENT, reason="younger than the oldest onnxruntime that is supported")
pytestmark = pytest.mark.filterwarnings("ignore")

U16 = {"quant_type": QuantType.QUInt16}
FANS_OUT = "t (float[4, 8] x) => (float[4, 8] y, float[4, 8] z) { h = Add(x, v) y = MatMul(h, m) z = Mul(h, m2) }"


def network(opset: int = 18, scale: float = 1.0) -> ModelProto:
    """Convolutions, a pool, products; every node has its type's name and a number."""
    proto = model(
        """t (float[1, 4, 8, 8] x) => (float[1, 8] y)
        { c = Conv<pads = [1, 1, 1, 1]>(x, w, b) r = Relu(c) d = Conv(r, w, b) p = GlobalAveragePool(d)
          f = Flatten(p) g = Gemm(f, k, e) y = MatMul(g, m) }""",
        {
            "w": weights(1, 4, 4, 3, 3, scale=0.3 * scale),
            "b": weights(2, 4, scale=0.2),
            "k": weights(3, 4, 8),
            "e": weights(4, 8, scale=0.2),
            "m": weights(5, 8, 8),
        },
        opset,
    )
    for at, node in enumerate(proto.graph.node):
        node.name = f"{node.op_type}_{at}"
    return proto


def fan() -> ModelProto:
    proto = model(FANS_OUT, {"v": weights(1, 8), "m": weights(2, 8, 8), "m2": weights(3, 8)})
    for node in proto.graph.node:
        node.name = node.op_type
    return proto


def branches() -> ModelProto:
    """An If whose bodies compute, and read a weight of the graph around them."""
    return model(
        """t (float[4, 8] x, bool c) => (float[4, 8] y)
        { h = MatMul(x, m)
          z = If(c) <then_branch = a () => (float[4, 8] o) { o = MatMul(h, m) },
                     else_branch = b () => (float[4, 8] p) { p = Add(h, h) }>
          y = MatMul(z, m) }""",
        {"m": weights(1, 8, 8)},
    )


def agree(proto: ModelProto, feeds: Any = None, **arguments: Any) -> ModelProto:
    """Ours, which has theirs' operators, opset and parameters and is as near to float."""
    left, right = theirs(proto, feeds, **arguments), ours(proto, feeds, **arguments)
    found = compared(proto, left, right)
    assert (found.op_types, found.parameters) == ("", [])
    assert found.is_as_near, found.decibels
    assert right.opset_import[0].version == left.opset_import[0].version
    return right


def domains(proto: ModelProto) -> set[str]:
    return {node.domain for node in nodes(proto, "QuantizeLinear", "DequantizeLinear")}


# ---------------------------------------------------------------------- which nodes

SELECTIONS: dict[str, Arguments] = {
    "nodes to quantize": {"nodes_to_quantize": ["MatMul"]},
    "nodes to exclude": {"nodes_to_exclude": ["Add"]},
    "op types": {"op_types_to_quantize": ["MatMul"]},
    "no output of a type": {"extra_options": {"OpTypesToExcludeOutputQuantization": ["MatMul"]}},
    "pairs of their own": {"extra_options": {"DedicatedQDQPair": True}},
    "pairs on weights": {"extra_options": {"AddQDQPairToWeight": True}},
    "constant operands only": {"extra_options": {"MatMulConstBOnly": True}},
    "biases left float": {"extra_options": {"QuantizeBias": False}},
    "whatever the input is": {"extra_options": {"ForceQuantizeNoInputCheck": True}},
}


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("build", [fan, network])
def test_selections(name: str, build: Callable[[], ModelProto]) -> None:
    arguments = dict(SELECTIONS[name])
    if build is network and "nodes" in name:
        arguments = {key: ["Conv_0", "MatMul_6"] for key in arguments}
    agree(build(), **U8S8, **arguments)


@pytest.mark.parametrize("arguments", [U8U8, S8S8, {**S8S8, "extra_options": {"ActivationSymmetric": True}}])
@pytest.mark.parametrize("keep", [False, True])
def test_activations_that_codes_replace(keep: bool, arguments: Arguments) -> None:
    options = {**arguments.get("extra_options", {}), "QDQKeepRemovableActivations": keep}
    for name in ("Conv and Relu", "Clip of limits", "Relu of the input"):
        result = agree(source(name), **{**arguments, "extra_options": options})
        assert not keep or nodes(result, "Relu", "Clip")


# ---------------------------------------------------------------------- types and opsets

WIDE: dict[str, Arguments] = {
    "16 bits": {"activation_type": QuantType.QUInt16, "weight_type": QuantType.QInt8},
    "16 bits as contributed": {"activation_type": QuantType.QInt16, "extra_options": {"UseQDQContribOps": True}},
    "4 bits": {**U8S8, "weight_type": QuantType.QInt4},
    "unsigned 4 bits": {**U8S8, "weight_type": QuantType.QUInt4, "extra_options": {"WeightSymmetric": True}},
    "4 bits by channel": {**U8S8, "weight_type": QuantType.QInt4, "per_channel": True},
    "one tensor of 16 bits": {**U8S8, "extra_options": {"TensorQuantOverrides": {"r": [U16]}}},
    "16 bits, then 4": {"activation_type": QuantType.QUInt16, "weight_type": QuantType.QInt4},
}


@recent
@pytest.mark.parametrize("opset", [13, 19, 21])
@pytest.mark.parametrize("name", WIDE)
def test_types_and_opsets(name: str, opset: int) -> None:
    proto = network(opset)
    left, right = theirs(proto, **WIDE[name]), ours(proto, **WIDE[name])
    # Eight bits need no operator of com.microsoft; pairs that are asked for by that name need no other opset.
    assert domains(right) in (domains(left), {"", *domains(left)})
    if "contributed" not in name:
        assert right.opset_import[0].version == left.opset_import[0].version
    found = compared(proto, left, right)
    assert (found.op_types, found.parameters) == ("", [])
    assert found.is_as_near, found.decibels


@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize("arguments", [U8S8, {**U8U8, **QOPERATOR}], ids=["QDQ", "QOperator"])
def test_opsets_below_those_of_wide_types(opset: int, arguments: Arguments) -> None:
    proto = network(opset)
    left, right = theirs(proto, **arguments), ours(proto, **arguments)
    found = compared(proto, left, right)
    assert found.parameters == []
    assert found.is_as_near, found.decibels


@pytest.mark.parametrize("name", ["Conv and Relu", "Gemm", "MatMul", "ConvTranspose"])
@pytest.mark.parametrize("arguments", [U8S8, S8S8], ids=["u8s8", "s8s8"])
def test_halves(name: str, arguments: Arguments) -> None:
    proto = source(name, 20, np.float16)
    left, right = theirs(proto, **arguments), ours(proto, **arguments)
    found = compared(proto, left, right)
    # The scale of an int32 bias, a product, may be too small for half precision.
    assert found.op_types in ("", *(f"{{}} -> {{'Cast': {count}}}" for count in (1, 2)))
    assert found.parameters == []
    assert found.is_as_near, found.decibels


@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
@pytest.mark.parametrize("name", ["Add", "Gemm", "MatMul", "Conv and Relu"])
def test_unsigned_weights_beside_signed_activations_are_no_error(name: str, form: QuantFormat) -> None:
    """onnxruntime's code refuses the two together; no kernel on codes takes them, the float operator does."""
    kinds = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QUInt8}
    proto = source(name)
    with pytest.raises(ValueError, match="weight_type"):
        theirs(proto, quant_format=form, **kinds)
    assert decibels(proto, ours(proto, quant_format=form, **kinds), samples(proto)) > FAITHFUL


@pytest.mark.parametrize("name", ["Gemm", "MatMul", "MaxPool"])
def test_floats_of_eight_bits(name: str) -> None:
    kind = {"activation_type": QuantType.QFLOAT8E4M3FN, "weight_type": QuantType.QFLOAT8E4M3FN}
    proto = source(name, 19)
    right = ours(proto, calibrate_method=CalibrationMethod.Distribution, **kind)
    assert decibels(proto, right, samples(proto)) > 15.0
    stored = {tensor.data_type for tensor in right.graph.initializer if "quantized" in tensor.name}
    assert stored <= {TensorProto.FLOAT8E4M3FN, TensorProto.INT32}


# ---------------------------------------------------------------------- ranges


@pytest.mark.parametrize("method", ["Entropy", "Percentile", "Distribution"])
@pytest.mark.parametrize("arguments", [U8S8, S8S8], ids=["u8s8", "s8s8"])
def test_methods(method: str, arguments: Arguments) -> None:
    proto = source("MatMul")
    given = {**arguments, "calibrate_method": CalibrationMethod[method]}
    feeds = samples(proto, 16)
    right = ours(proto, feeds, **given)
    assert decibels(proto, right, feeds) >= decibels(proto, theirs(proto, feeds, **given), feeds) - 0.5


RANGES: dict[str, dict[str, Any]] = {
    "symmetric activations": {"ActivationSymmetric": True},
    "asymmetric weights": {"WeightSymmetric": False},
    "symmetric weights": {"WeightSymmetric": True},
    "least range": {"MinimumRealRange": 8.0},
    "weights as they are": {"QDQDisableWeightAdjustForInt32Bias": True},
}


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("arguments", [U8U8, S8S8, {**U8S8, "per_channel": True}], ids=["u8u8", "s8s8", "channels"])
def test_ranges(name: str, arguments: Arguments) -> None:
    options = {**arguments.get("extra_options", {}), **RANGES[name]}
    agree(network(), **{**arguments, "extra_options": options})


SIDES = {"positive": (0.0, 4.0), "negative": (-4.0, 0.0), "both": (-1.0, 3.0), "zero": (0.0, 0.0)}


@recent
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("reduce_range", [False, True])
def test_restricted_zero_points(side: str, reduce_range: bool) -> None:
    proto = source("Conv without a bias")
    ends = np.linspace(*SIDES[side], 256, dtype=np.float32).reshape(1, 4, 8, 8)
    options = {"ActivationRestrictedAsymmetric": True}
    given = {**U8S8, "reduce_range": reduce_range, "extra_options": options}
    right = ours(proto, [{"x": ends}], **given)
    left = theirs(proto, [{"x": ends}], **given)
    if side != "zero":  # zeros are exact at any scale: 1 there, 2^-7 here
        np.testing.assert_allclose(parameters(right)["x_scale"], parameters(left)["x_scale"], rtol=1e-6)
    assert parameters(right)["x_zero_point"] == parameters(left)["x_zero_point"]


@pytest.mark.parametrize("arguments", [{}, {"per_channel": True}, QOPERATOR], ids=["QDQ", "channels", "QOperator"])
def test_weights_so_small_that_biases_would_overflow(arguments: Arguments) -> None:
    proto = network(scale=1e-7)
    left, right = (each(proto, **U8S8, **arguments) for each in (theirs, ours))
    assert compared(proto, left, right).is_as_near
    codes = [value for value in constants_of(right).values() if value.dtype == np.int32 and value.ndim]
    assert codes
    assert all(np.abs(value.astype(np.int64)).max() < 2**31 - 1 for value in codes)


# ---------------------------------------------------------------------- overrides

OVERRIDES: dict[str, dict[str, list[dict[str, Any]]]] = {
    "scale and zero point": {"r": [{"scale": np.array(0.03, np.float32), "zero_point": np.array(0, np.uint8)}]},
    "a type": {"x": [U16]},
    "symmetric": {"x": [{"symmetric": True}]},
    "a reduced range": {"w": [{"reduce_range": True}]},
    "a range": {"r": [{"rmin": np.float32(0), "rmax": np.float32(9)}]},
    "channels": {"w": [{"axis": 0, "quant_type": QuantType.QInt8, "symmetric": True}]},
    "channels, each": {"w": [{"axis": 0, "rmin": -1.0 - at, "rmax": 1.0 + at} for at in range(4)]},
    "converted": {"f": [{"quant_type": QuantType.QUInt8, "convert": {**U16, "recv_nodes": {"Gemm_5"}}}]},
    "converted for all": {"f": [{"quant_type": QuantType.QUInt8, "convert": U16}], "g": [U16]},
}


@recent
@pytest.mark.parametrize("name", OVERRIDES)
def test_overrides(name: str) -> None:
    proto = network(21)
    given = {**U8S8, "extra_options": {"TensorQuantOverrides": OVERRIDES[name]}}
    left, right = theirs(proto, **given), ours(proto, **given)
    found = compared(proto, left, right)
    assert found.op_types == ""
    assert found.is_as_near, found.decibels


REFUSED: dict[str, dict[str, Any]] = {
    "a tensor that is none": {"nobody": [{"quant_type": QuantType.QInt8}]},
    "a scale without a zero point": {"x": [{"scale": 0.1}]},
    "a scale beside a range": {"x": [{"scale": 0.1, "zero_point": 0, "rmax": 1.0}]},
    "a scale beside symmetry": {"x": [{"scale": 0.1, "zero_point": 0, "symmetric": True}]},
    "channels of an activation": {"x": [{"quant_type": QuantType.QInt8}, {"quant_type": QuantType.QInt8}]},
}


@pytest.mark.parametrize("name", REFUSED)
def test_overrides_that_both_refuse(name: str) -> None:
    given = {"extra_options": {"TensorQuantOverrides": REFUSED[name]}}
    with pytest.raises(ValueError, match=r"."):
        theirs(network(), **given)
    with pytest.raises(QuantizationError, match=r"nobody|x"):
        ours(network(), **given)


# ---------------------------------------------------------------------- weights and inputs that come as codes


@recent
@pytest.mark.parametrize("is_input", [False, True])
def test_pairs_that_are_there(is_input: bool) -> None:
    body = "w = DequantizeLinear(c, s, z) y = Conv(x, w, b)"
    if is_input:
        body = "q = QuantizeLinear(x, s, z) h = DequantizeLinear(q, s, z) y = Conv(h, c, b)"
    codes = np.clip(weights(1, 4, 4, 3, 3) * 60, -127, 127).astype(np.int8)
    constants = {"c": weights(1, 4, 4, 3, 3) if is_input else codes, "s": np.float32(0.02), "z": np.int8(0)}
    proto = model(f"t (float[1, 4, 6, 6] x) => (float[1, 4, 4, 4] y) {{ {body} }}", {**constants, "b": weights(2, 4)})
    left, right = theirs(proto, **S8S8), ours(proto, **S8S8)
    assert compared(proto, left, right).is_as_near
    assert len(nodes(right, "DequantizeLinear")) <= len(nodes(left, "DequantizeLinear"))


@recent
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
def test_products_that_onnxruntimes_own_tool_packed(bits: int, form: QuantFormat) -> None:
    tools = pytest.importorskip("onnxruntime.quantization.matmul_nbits_quantizer")
    proto = model("t (float[4, 64] x) => (float[4, 8] y) { h = MatMul(x, m) y = MatMul(h, k) }",
                  {"m": weights(1, 64, 64, scale=0.2), "k": weights(2, 64, 8, scale=0.2)}, 21, 10)  # fmt: skip
    proto.graph.node[0].name, proto.graph.node[1].name = "packed", "plain"
    config = tools.DefaultWeightOnlyQuantConfig(block_size=32, is_symmetric=True, quant_format=form, bits=bits)
    tool = tools.MatMulNBitsQuantizer(proto, algo_config=config, nodes_to_exclude=["plain"])
    tool.process()
    packed = tool.model.model
    right = ours(packed, **S8S8)
    kind = "MatMulNBits" if form is QuantFormat.QOperator else "DequantizeLinear"
    assert any(node.op_type == kind for node in right.graph.node)
    assert decibels(packed, right, samples(packed)) > FAITHFUL


# ---------------------------------------------------------------------- graphs as they come


@pytest.mark.parametrize("subgraphs", [False, True])
@pytest.mark.parametrize("arguments", [U8S8, {"activation_type": QuantType.QUInt16}], ids=["u8s8", "u16s8"])
def test_bodies(subgraphs: bool, arguments: Arguments) -> None:
    feeds = [{**feed, "c": np.array(at % 2 == 0)} for at, feed in enumerate(samples(branches(), 4))]
    right = ours(branches(), feeds, **arguments, extra_options={"EnableSubgraph": subgraphs})
    assert decibels(branches(), right, feeds) > FAITHFUL - 5
    (split,) = nodes(right, "If")
    found = {node.op_type for entry in split.attribute for node in entry.g.node}
    assert ("DequantizeLinear" in found) is subgraphs


@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
@pytest.mark.parametrize("method", CalibrationMethod.__members__)
def test_methods_beside_bodies(method: str, form: QuantFormat) -> None:
    """Three of the four end in an error there, and so do quantized operators inside of bodies."""
    feeds = [{**feed, "c": np.array(at % 2 == 0)} for at, feed in enumerate(samples(branches(), 4))]
    for subgraphs in (False, True):
        given = {**U8S8, "quant_format": form, "calibrate_method": CalibrationMethod[method]}
        right = ours(branches(), feeds, **given, extra_options={"EnableSubgraph": subgraphs})
        assert decibels(branches(), right, feeds) > FAITHFUL - 5


@pytest.mark.parametrize("attributes", ["", ", value = 10.0", ', mode = "edge"', ', mode = "reflect"'])
def test_pads_whose_value_is_an_attribute(attributes: str) -> None:
    """Opsets below 11; the value becomes an input, and codes."""
    proto = model(f"t (float[3, 4] x) => (float[3, 6] y) {{ y = Pad<pads = [0, 1, 0, 1]{attributes}>(x) }}", {}, 10)
    found = compared(proto, theirs(proto, **U8U8), ours(proto, **U8U8))
    assert found.parameters == []
    assert found.is_as_near, found.decibels


def shuffled() -> ModelProto:
    proto = network()
    backwards = list(reversed(proto.graph.node))
    del proto.graph.node[:]
    proto.graph.node.extend(backwards)
    return proto


def unnamed() -> ModelProto:
    proto = network()
    for node in proto.graph.node:
        node.name = ""
    return proto


def foreign() -> ModelProto:
    """What shape inference does not know stands in the middle."""
    return model(
        "t (float[4, 8] x) => (float[4, 8] y) { h = MatMul(x, m) g = com.microsoft.Gelu(h) y = MatMul(g, m) }",
        {"m": weights(1, 8, 8)},
    )


def unstated() -> ModelProto:
    proto = network()
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    return proto


def constants_as_nodes() -> ModelProto:
    proto = network()
    for tensor in reversed(proto.graph.initializer):
        proto.graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))
    del proto.graph.initializer[:]
    return proto


GRAPHS = [shuffled, unnamed, foreign, unstated, constants_as_nodes]


@pytest.mark.parametrize("build", GRAPHS)
def test_graphs_as_they_come(build: Callable[[], ModelProto]) -> None:
    proto = build()
    sorted_ = network() if build is shuffled else proto
    feeds = samples(sorted_, free=1)
    assert decibels(sorted_, ours(proto, feeds, **U8S8), feeds) > FAITHFUL


def test_a_tensor_without_values() -> None:
    proto = model(
        "t (float[n, 8] x) => (float[m, 8] y) { e = MatMul(x, m) y = Concat<axis = 0>(e, e) }", {"m": weights(1, 8, 8)}
    )
    feeds = [{"x": np.zeros((0, 8), np.float32)}, {"x": weights(2, 3, 8)}]
    assert decibels(proto, ours(proto, feeds, **U8S8), feeds) > FAITHFUL


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("by", ["path", "ModelProto"])
@pytest.mark.parametrize("external", [False, True])
def test_weights_in_a_file_of_their_own(by: str, external: bool, tmp_path: Path) -> None:
    proto, path = network(), tmp_path / "float.onnx"
    onnx.save_model(network(), path, save_as_external_data=True, location="float.data", size_threshold=0)
    given: Any = path if by == "path" else onnx.load(path)
    vitis.quantize_static(
        given, tmp_path / "q.onnx", FeedReader(samples(proto)), **U8S8,
        calibrate_method=CalibrationMethod.MinMax, use_external_data_format=external, extra_options=PLAINLY,
    )  # fmt: skip
    assert_close(proto, str(tmp_path / "q.onnx"), FAITHFUL)


def test_a_model_that_was_never_saved_stays_as_it_is() -> None:
    proto = network()
    before = proto.SerializeToString()
    ours(proto, **U8S8)
    assert proto.SerializeToString() == before


# ---------------------------------------------------------------------- onnxruntime's own tools, before and after


@pytest.mark.parametrize("opset", [9, 10, 17])
def test_after_onnxruntimes_preparation(opset: int, tmp_path: Path) -> None:
    from onnxruntime.quantization import quant_pre_process

    bodies = {
        9: "u = Upsample(x, scales) c = Conv(u, w, b) y = Relu(c)",
        10: "c = Conv(x, w, b) y = Clip<min = 0.0, max = 6.0>(c)",
        17: "c = Conv(x, w, b) n = BatchNormalization(c, b, b, b, v) y = Relu(n)",
    }
    side = 14 if opset == 9 else 6
    constants = {"w": weights(1, 4, 4, 3, 3), "b": weights(2, 4), "v": np.ones(4), "scales": np.float32([1, 1, 2, 2])}
    proto = model(
        f"t (float[1, 4, 8, 8] x) => (float[1, 4, {side}, {side}] y) {{ {bodies[opset]} }}",
        {name: value for name, value in constants.items() if f" {name}" in bodies[opset].replace("(", "( ")},
        opset,
    )
    onnx.save(proto, tmp_path / "float.onnx")
    if opset > 9:  # onnx converts no Resize that was an Upsample
        quant_pre_process(tmp_path / "float.onnx", tmp_path / "ready.onnx", skip_symbolic_shape=True)
        ready = onnx.load(tmp_path / "ready.onnx")
        assert decibels(proto, ours(ready, samples(proto), **U8S8), samples(proto)) > FAITHFUL
    assert decibels(proto, ours(proto, **U8S8), samples(proto)) > FAITHFUL


GELU = "d = Div(h, root) e = Erf(d) o = Add(e, one) m = Mul(h, o) y = Mul(m, half)"
NORM = "q = Pow(h, two) s = ReduceMean<axes = [-1], keepdims = 1>(q) r = Sqrt(s) y = Div(h, r)"
SPHERE = "n = ReduceL2<axes = [-1], keepdims = 1>(h) c = Clip(n, tiny) y = Div(h, c)"


@pytest.mark.parametrize("body", [GELU, NORM, SPHERE], ids=["Gelu", "norm", "sphere"])
@pytest.mark.parametrize("prepared", [False, True])
def test_what_qnn_is_prepared_with(body: str, prepared: bool, tmp_path: Path) -> None:
    from onnxruntime.quantization.execution_providers.qnn import qnn_preprocess_model

    constants = {"root": np.sqrt(2.0), "one": 1.0, "half": 0.5, "two": 2.0, "tiny": 1e-12, "k": weights(1, 8, 8)}
    proto = model(
        f"t (float[4, 8] x) => (float[4, 8] y) {{ h = MatMul(x, k) {body} }}",
        {name: value for name, value in constants.items() if name in body or name == "k"},
    )
    onnx.save(proto, tmp_path / "float.onnx")
    ready = proto
    if prepared and qnn_preprocess_model(tmp_path / "float.onnx", tmp_path / "ready.onnx"):
        ready = onnx.load(tmp_path / "ready.onnx")
    assert decibels(proto, ours(ready, samples(proto), **U8S8), samples(proto)) > FAITHFUL - 3


@recent
@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QUInt16])
def test_configurations_for_qnn(kind: QuantType, tmp_path: Path) -> None:
    from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config

    proto = model(
        """t (float[4, 8] x) => (float[4, 8] y)
        { h = MatMul(x, m) s = Sigmoid(h) t = Tanh(h) a = Add(s, t)
          n = LayerNormalization(a, g, b) y = MatMul(n, m) }""",
        {"m": weights(1, 8, 8), "g": weights(2, 8) + np.float32(1), "b": weights(3, 8)},
        21,
        10,
    )
    onnx.save(proto, tmp_path / "float.onnx")
    for per_channel in (False, True):
        config = get_qnn_qdq_config(
            tmp_path / "float.onnx", FeedReader(samples(proto)), activation_type=kind, per_channel=per_channel
        )
        options = {**config.extra_options, "Target": "cpu", **PLAINLY}
        config.extra_options, config.calibration_data_reader = options, FeedReader(samples(proto))
        quantize(tmp_path / "float.onnx", tmp_path / "ours.onnx", config)
        right = onnx.load(tmp_path / "ours.onnx")
        plain = {key: value for key, value in options.items() if key not in {"Target", *PLAINLY}}
        left = theirs(
            proto, quant_format=QuantFormat.QDQ, activation_type=config.activation_type,
            weight_type=config.weight_type, per_channel=config.per_channel, extra_options=plain,
            op_types_to_quantize=config.op_types_to_quantize, nodes_to_exclude=config.nodes_to_exclude,
        )  # fmt: skip
        assert compared(proto, left, right).is_as_near


@recent
def test_any_configuration(tmp_path: Path) -> None:
    from onnxruntime.quantization import get_qdq_config

    proto = network()
    onnx.save(proto, tmp_path / "float.onnx")
    config = get_qdq_config(
        tmp_path / "float.onnx",
        FeedReader(samples(proto)),
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=lambda graph, node: node.op_type == "Gemm",
        op_types_to_quantize={"Conv", "Gemm", "MatMul"},
    )
    config.extra_options.update({"Target": "cpu", **PLAINLY})
    quantize(tmp_path / "float.onnx", tmp_path / "ours.onnx", config)
    right = onnx.load(tmp_path / "ours.onnx")
    assert "DequantizeLinear" not in {node.op_type for node in nodes(right) if "g" in node.output}
    assert_close(proto, right, FAITHFUL)


def test_the_debugger_finds_every_tensor(tmp_path: Path) -> None:
    from onnxruntime.quantization import qdq_loss_debug as debug

    proto = network()
    for each, name in ((proto, "float"), (ours(proto, **U8S8, per_channel=True), "quantized")):
        onnx.save(each, tmp_path / f"{name}.onnx")
        debug.modify_model_output_intermediate_tensors(str(tmp_path / f"{name}.onnx"), str(tmp_path / f"{name}_.onnx"))
    seen = [
        debug.collect_activations(str(tmp_path / f"{name}_.onnx"), FeedReader(samples(proto)))
        for name in ("float", "quantized")
    ]
    found = debug.create_activation_matching(seen[1], seen[0])
    assert {"x", "r", "d", "g"} <= found.keys()
    errors = debug.compute_activation_error(found)
    assert all(errors[name]["xmodel_err"] > FAITHFUL for name in ("x", "r", "d", "g")), errors
    matched = debug.create_weight_matching(str(tmp_path / "float.onnx"), str(tmp_path / "quantized.onnx"))
    assert {"w", "k", "m"} <= matched.keys()


@recent
def test_the_runner_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxruntime.quantization import static_quantize_runner

    proto, folder = network(), tmp_path / "test_data_set_0"
    folder.mkdir()
    onnx.save(proto, tmp_path / "float.onnx")
    (folder / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(samples(proto)[0]["x"], "x").SerializeToString())
    given = ["-i", str(tmp_path / "float.onnx"), "-o", str(tmp_path / "q.onnx"), "--dedicated_qdq_pair"]
    monkeypatch.setattr(sys, "argv", ["runner", *given])
    static_quantize_runner.main()
    assert decibels(proto, onnx.load(tmp_path / "q.onnx"), samples(proto)[:1]) > FAITHFUL


def test_types_that_only_dynamic_quantization_takes_are_not_ours() -> None:
    static = {*registry.QLinearOpsRegistry, *registry.QDQRegistry}
    assert set(registry.IntegerOpsRegistry) - static <= {"Attention", "LSTM"}


def test_a_bias_that_two_read_is_two(tmp_path: Path) -> None:
    right = ours(network(), **U8S8)
    readers = {name for node in nodes(right, "Conv") for name in node.input[2:]}
    assert len(readers) == 2
    for name in readers:
        dequantizer(right, name)
