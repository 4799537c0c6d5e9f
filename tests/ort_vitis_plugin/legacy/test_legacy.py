"""The 2019-2020 interface gives models that run, close to float, with the parameters taken literally."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ort_vitis_plugin.errors import (
    CalibrationError,
    ModelNotFoundError,
    OptionError,
    OptionTypeError,
    UnknownNameError,
    UnsupportedError,
)
from ort_vitis_plugin.legacy import QuantizationMode, calibrate, quantize
from ort_vitis_plugin.options.options import OptionWarning

if TYPE_CHECKING:
    from pathlib import Path

INTEGER, LINEAR = QuantizationMode.IntegerOps, QuantizationMode.QLinearOps
OLD_ORT = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 32)

pytestmark = pytest.mark.filterwarnings("ignore:.*is the interface of 2019:DeprecationWarning")


def model_of(
    nodes: list[onnx.NodeProto], shapes: dict[str, list[int]], *, output: list[int], opset: int = 13
) -> ModelProto:
    """A model from x of shape 1x3x8x8 to y; weights are seeded."""
    rng = np.random.default_rng(5)
    weights = [
        numpy_helper.from_array(rng.normal(scale=0.4, size=shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


def network(opset: int = 13) -> ModelProto:
    """Conv with bias, Relu, Conv with bias, pooling, Flatten, MatMul."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "conv2"),
        helper.make_node("GlobalAveragePool", ["c2"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("MatMul", ["f", "w3"], ["y"], "matmul"),
    ]
    shapes = {"w1": [8, 3, 3, 3], "b1": [8], "w2": [8, 8, 3, 3], "b2": [8], "w3": [8, 5]}
    return model_of(nodes, shapes, output=[1, 5], opset=opset)


class Reader:
    """Samples as the old interface reads them: anything with get_next."""

    def __init__(self, count: int = 8, seed: int = 1) -> None:
        self.batches = iter(samples(count, seed))

    def get_next(self) -> dict[str, np.ndarray[Any, Any]] | None:
        return next(self.batches, None)


def samples(count: int, seed: int) -> list[dict[str, np.ndarray[Any, Any]]]:
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(size=(1, 3, 8, 8)).astype(np.float32)} for _ in range(count)]


def run(model: ModelProto, feed: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, feed)
    return np.asarray(result)


def relative_error(quantized: ModelProto, reference: ModelProto) -> float:
    feeds = samples(8, 1)
    wanted = np.concatenate([run(reference, feed) for feed in feeds])
    found = np.concatenate([run(quantized, feed) for feed in feeds])
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def ops(model: ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save(network(), tmp_path / "network.onnx")
    return tmp_path / "network.onnx"


@pytest.fixture
def parameters(path: Path) -> dict[str, list[Any]]:
    return calibrate(path, Reader())


# What must not change.


def test_the_callers_model_and_dict_stay(parameters: dict[str, list[Any]]) -> None:
    model = network()
    before, given = model.SerializeToString(), {name: list(pair) for name, pair in parameters.items()}
    quantize(model, quantization_mode=LINEAR, static=True, quantization_params=parameters)
    assert model.SerializeToString() == before
    assert parameters == given


def test_nothing_is_written_beside_the_input(path: Path) -> None:
    calibrate(path, Reader())
    assert [entry.name for entry in path.parent.iterdir()] == ["network.onnx"]


def test_gemm_is_left_alone() -> None:
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "w"], ["g"], "gemm"),
        helper.make_node("MatMul", ["g", "v"], ["y"], "matmul"),
    ]
    quantized = quantize(model_of(nodes, {"w": [192, 8], "v": [8, 4]}, output=[1, 4]))
    assert ops(quantized)["Gemm"] == ops(quantized)["MatMulInteger"] == 1


# What must.


@pytest.mark.parametrize("opset", [9, 10, 11, 13, 17])
@pytest.mark.parametrize("force_fusions", [False, True])
def test_dynamic_integer_ops(opset: int, force_fusions: bool) -> None:
    quantized = quantize(network(opset), force_fusions=force_fusions)
    assert ops(quantized)["ConvInteger"] == 2
    assert ops(quantized)["MatMulInteger"] == 1
    assert ops(quantized)["DynamicQuantizeLinear"] == 3 * force_fusions
    assert relative_error(quantized, network(opset)) < 0.03


def test_single_steps_equal_dynamic_quantize_linear() -> None:
    single, fused = (quantize(network(), force_fusions=fused) for fused in (False, True))
    for feed in [*samples(4, 2), {"x": np.zeros((1, 3, 8, 8), np.float32)}, {"x": np.ones((1, 3, 8, 8), np.float32)}]:
        np.testing.assert_allclose(run(single, feed), run(fused, feed), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", [INTEGER, LINEAR])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("asymmetric_input_types", [False, True])
def test_static(
    mode: QuantizationMode, per_channel: bool, asymmetric_input_types: bool, parameters: dict[str, list[Any]]
) -> None:
    quantized = quantize(
        network(),
        per_channel=per_channel,
        quantization_mode=mode,
        static=True,
        asymmetric_input_types=asymmetric_input_types,
        quantization_params=parameters,
    )
    assert ops(quantized)["QLinearConv" if mode == LINEAR else "ConvInteger"] == 2
    weights = {tensor.data_type for tensor in quantized.graph.initializer if tensor.name == "w3_quantized"}
    assert weights == {TensorProto.INT8 if asymmetric_input_types else TensorProto.UINT8}
    if mode == INTEGER and asymmetric_input_types and OLD_ORT:
        pytest.skip("ConvInteger with int8 weights does not run on the CPU before onnxruntime 1.32")
    assert relative_error(quantized, network()) < 0.04


@pytest.mark.parametrize("mode", [INTEGER, LINEAR])
def test_parameters_are_taken_literally(mode: QuantizationMode, parameters: dict[str, list[Any]]) -> None:
    given = {**parameters, "x": [np.uint8(113), np.float32(0.05)], "c1": [np.uint8(7), np.float32(0.037)]}
    quantized = quantize(network(), quantization_mode=mode, static=True, quantization_params=given)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in quantized.graph.initializer}
    checked = [name for name in given if f"{name}_scale" in values]
    assert {"x", "c1"} - set(checked) == ({"c1"} if mode == INTEGER else set())
    for name in checked:
        assert values[f"{name}_zero_point"] == given[name][0]
        assert values[f"{name}_scale"] == given[name][1]


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("force_fusions", [False, True])
def test_dynamic_qlinear_ops_with_bias(
    per_channel: bool, force_fusions: bool, parameters: dict[str, list[Any]]
) -> None:
    outputs = {name: parameters[name] for name in ("c1", "c2", "y")}
    model = network()
    quantized = quantize(
        model, per_channel, quantization_mode=LINEAR, force_fusions=force_fusions, quantization_params=outputs
    )
    assert ops(quantized)["QLinearConv"] == 2
    assert ops(quantized)["QLinearMatMul"] == 1
    assert ops(quantized)["DynamicQuantizeLinear"] == 3 * force_fusions
    assert all(len(node.input) == 9 for node in quantized.graph.node if node.op_type == "QLinearConv")
    error = relative_error(quantized, model)
    assert error < 0.04
    run(quantized, {"x": np.zeros((1, 3, 8, 8), np.float32)})
    if per_channel:
        return  # int8 weights: without VNNI, x86 saturates u8 x s8 sums, the more the better the inputs use their range
    static = quantize(model, quantization_mode=LINEAR, static=True, quantization_params=parameters)
    assert error < 1.2 * relative_error(static, model)


def test_bias_shared_under_two_scales(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b"], ["c1"], "conv1"),
        helper.make_node("Conv", ["c1", "w2", "b"], ["y"], "conv2"),
    ]
    shapes = {"w1": [3, 3, 3, 3], "w2": [3, 3, 3, 3], "b": [3]}
    model = model_of(nodes, shapes, output=[1, 3, 4, 4])
    onnx.save(model, tmp_path / "m.onnx")
    parameters = calibrate(tmp_path / "m.onnx", Reader())
    quantized = quantize(model, quantization_mode=LINEAR, static=True, quantization_params=parameters)
    assert relative_error(quantized, model) < 0.03


def test_weights_in_constant_nodes(parameters: dict[str, list[Any]]) -> None:
    model = network()
    for tensor in list(model.graph.initializer):
        model.graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))
        model.graph.initializer.remove(tensor)
    quantized = quantize(model, quantization_mode=LINEAR, static=True, quantization_params=parameters)
    assert ops(quantized)["QLinearConv"] == 2
    assert relative_error(quantized, network()) < 0.04


def test_nodes_to_quantize() -> None:
    quantized = quantize(network(), nodes_to_quantize=["conv2"])
    assert ops(quantized)["ConvInteger"] == ops(quantized)["Conv"] == ops(quantized)["MatMul"] == 1


def test_calibrated_parameters_cover_the_data(path: Path, parameters: dict[str, list[Any]]) -> None:
    """scale = (max - min) / 255 and zero point = round(-min / scale), Relu's input from 0 on."""
    assert parameters.keys() == {"x", "c1", "r1", "c2", "f", "y"}
    seen = np.concatenate([feed["x"] for feed in samples(8, 1)])
    zero_point, scale = parameters["x"]
    assert (type(zero_point), type(scale)) == (np.uint8, np.float32)
    np.testing.assert_allclose(scale, (seen.max() - seen.min()) / 255, rtol=1e-6)
    assert zero_point == round(float(-seen.min() / scale))
    assert parameters["c1"][0] == 0, "Relu follows"
    assert parameters["c1"] == parameters["r1"]
    assert parameters["c2"][0] > 0, "no Relu follows"


@pytest.mark.parametrize("opset", [10, 13])
def test_clip_narrows_the_range(tmp_path: Path, opset: int) -> None:
    conv = helper.make_node("Conv", ["x", "w"], ["c"], "conv")
    clip = (
        helper.make_node("Clip", ["c"], ["y"], "clip", min=-0.25, max=1.0)
        if opset == 10
        else helper.make_node("Clip", ["c", "low", "high"], ["y"], "clip")
    )
    model = model_of([conv, clip], {"w": [4, 3, 3, 3]}, output=[1, 4, 6, 6], opset=opset)
    if opset == 13:
        for name, value in (("low", -0.25), ("high", 1.0)):
            model.graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), name))
    onnx.save(model, tmp_path / "m.onnx")
    zero_point, scale = calibrate(tmp_path / "m.onnx", Reader())["c"]
    np.testing.assert_allclose(scale, 1.25 / 255, rtol=1e-6)
    assert zero_point == 51


@pytest.mark.parametrize(
    ("arguments", "tensors"),
    [
        ({"op_types": "Conv,MatMul"}, {"x", "c1", "r1", "c2", "f", "y"}),
        ({"op_types": ["MatMul"]}, {"f", "y"}),
        ({"op_types": "Conv", "black_nodes": "conv1"}, {"r1", "c2"}),
        ({"op_types": "Conv", "black_nodes": ["conv1", "conv2"], "white_nodes": ["pool"]}, {"c2", "p"}),
        ({"op_types": [], "white_nodes": "relu1"}, {"c1", "r1"}),
        ({"op_types": ["Conv"], "black_nodes": "", "white_nodes": ""}, {"x", "c1", "r1", "c2"}),
    ],
)
def test_selection(path: Path, arguments: dict[str, Any], tensors: set[str]) -> None:
    assert calibrate(path, Reader(), **arguments).keys() == tensors


def test_black_nodes_stay_float(path: Path) -> None:
    parameters = calibrate(path, Reader(), black_nodes="conv1")
    with pytest.warns(OptionWarning, match="stay float.*conv1: x, c1"):
        quantized = quantize(network(), quantization_mode=LINEAR, static=True, quantization_params=parameters)
    assert ops(quantized)["Conv"] == ops(quantized)["QLinearConv"] == 1
    assert relative_error(quantized, network()) < 0.04


def test_augmented_model_is_kept_on_request(path: Path) -> None:
    calibrate(path, Reader(), augmented_model_path=path.with_name("augmented.onnx"))
    assert ops(onnx.load(path.with_name("augmented.onnx")))["ReduceMin"] > 0


def test_one_deprecation_warning_names_todays_call(path: Path) -> None:
    for call, today in (
        (lambda: quantize(network()), "quantize_dynamic"),
        (lambda: calibrate(path, Reader()), "create_calibrator"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        ours = [warning for warning in caught if "interface of 2019" in str(warning.message)]
        assert [warning.category for warning in ours] == [DeprecationWarning]
        assert today in str(ours[0].message)
        assert ours[0].filename == __file__


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"nbits": 4}, UnsupportedError, "nbits=4 is not supported, only 8"),
        ({"quantization_mode": 1}, OptionTypeError, "QuantizationMode"),
        ({"static": True}, OptionError, "needs quantization_params"),
        ({"quantization_mode": LINEAR}, OptionError, "needs quantization_params"),
        ({"quantization_params": {"x": [256, 0.1]}}, OptionError, "256 is no whole number from 0 to 255"),
        ({"quantization_params": {"x": [0, 0.0]}}, OptionError, "scale 0.0 is not a positive float32"),
        ({"quantization_params": {"x": [0, "a"]}}, OptionTypeError, "takes two numbers"),
        ({"quantization_params": {"x": 3}}, OptionTypeError, r"takes \[zero_point, scale\]"),
        ({"quantization_params": [1]}, OptionTypeError, "takes {name"),
        ({"nodes_to_quantize": ["conv3"]}, UnknownNameError, "no node is called 'conv3'; did you mean conv2 or conv1"),
        (
            {"quantization_mode": LINEAR, "static": True, "quantization_params": {"x": [0, 0.1]}},
            OptionError,
            "no node can be quantized.*conv1: c1",
        ),
    ],
)
def test_quantize_refuses(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        quantize(network(), **arguments)


def test_unknown_tensor_warns() -> None:
    with pytest.warns(OptionWarning, match=r"'xx'\] has no effect: no activation has this name; did"):
        quantize(network(), quantization_params={"xx": [0, 0.1]})


def test_quantize_takes_a_model_not_a_path() -> None:
    with pytest.raises(OptionTypeError, match=r"use onnx\.load"):
        quantize("model.onnx")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"model_path": "nowhere.onnx"}, ModelNotFoundError, r"no model at 'nowhere\.onnx'"),
        ({"black_nodes": "conv9"}, UnknownNameError, "black_nodes: no node is called 'conv9'"),
        ({"white_nodes": ["conv9"]}, UnknownNameError, "white_nodes: no node is called 'conv9'"),
        ({"op_types": "Gemm"}, OptionError, "select no node"),
        ({"op_types": 3}, OptionTypeError, "op_types takes a list"),
        ({"data_reader": Reader(0)}, CalibrationError, "No data is collected"),
    ],
)
def test_calibrate_refuses(path: Path, arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        calibrate(**{"model_path": path, "data_reader": Reader(), **arguments})


@pytest.mark.filterwarnings("ignore:All-NaN:RuntimeWarning")
def test_calibrate_refuses_infinity(path: Path) -> None:
    class Infinite(Reader):
        def get_next(self) -> dict[str, np.ndarray[Any, Any]] | None:
            feed = super().get_next()
            return None if feed is None else {"x": feed["x"] + np.float32(np.inf)}

    with pytest.raises(CalibrationError, match="not finite"):
        calibrate(path, Infinite())


# The manual's code blocks, as printed; names of packages, models and readers aside.

MANUAL = {
    "IntegerOps, static": """
    quantized_model = quantize(model, quantization_mode=QuantizationMode.IntegerOps,
                               static=True,
                               quantization_params={
                                    'input_1': [np.uint8(113), np.float32(0.05)]
                               })
""",
    "IntegerOps, dynamic": """
    quantized_model = quantize(model, quantization_mode=QuantizationMode.IntegerOps, static=False)
""",
    "QLinearOps, dynamic": """
    quantized_model = quantize(model, quantization_mode=QuantizationMode.QLinearOps,
                               static=False,
                               quantization_params={
                                    'output_1': [np.uint8(113), np.float32(0.05)]
                               })
""",
    "whole script": """
    import onnx
    from quantize import quantize, QuantizationMode

    # Load the onnx model
    model = onnx.load('path/to/the/model.onnx')
    # Quantize
    quantized_model = quantize(model, quantization_mode=QuantizationMode.IntegerOps)
    # Save the quantized model
    onnx.save(quantized_model, 'path/to/the/quantized_model.onnx')
""",
}

# Not valid Python: a comma is missing between the two entries.
MANUAL_BROKEN = """
    quantized_model = quantize(model, quantization_mode=QuantizationMode.QLinearOps,
                               static=True,
                               quantization_params={
                                    'input_1': [np.uint8(113), np.float32(0.05)]
                                    'output_1': [np.uint8(113), np.float32(0.05)]
                               })
"""


def manuals_model() -> ModelProto:
    node = helper.make_node("Conv", ["input_1", "w", "b"], ["output_1"], "Conv__224")
    model = model_of([node], {"w": [4, 3, 3, 3], "b": [4]}, output=[1, 4, 6, 6])
    model.graph.input[0].name, model.graph.output[0].name = "input_1", "output_1"
    return model


@pytest.mark.parametrize("block", [*MANUAL.values(), MANUAL_BROKEN], ids=[*MANUAL, "QLinearOps, static, comma added"])
def test_the_manuals_blocks(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if block is MANUAL_BROKEN:
        with pytest.raises(SyntaxError):
            compile("if True:" + block, "manual", "exec")
        block = block.replace("(0.05)]\n", "(0.05)],\n", 1)
    (tmp_path / "path/to/the").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    onnx.save(manuals_model(), "path/to/the/model.onnx")
    names: dict[str, Any] = {
        "model": manuals_model(), "np": np, "quantize": quantize, "QuantizationMode": QuantizationMode
    }  # fmt: skip
    exec("if True:" + block.replace("from quantize import", "from ort_vitis_plugin.legacy import"), names)
    feed = {"input_1": np.clip(samples(1, 3)[0]["x"], -5, 6)}
    wanted, found = run(manuals_model(), feed), run(names["quantized_model"], feed)
    if "output_1" in block:
        wanted = np.clip(wanted, -113 * 0.05, 142 * 0.05)
    assert np.abs(found - wanted).max() < 0.2
    assert set(ops(names["quantized_model"])) & {"ConvInteger", "QLinearConv"}
