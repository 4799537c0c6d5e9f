"""quantize() of 2019 gives a copy and leaves alone what it was not asked for."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper

from ort_vitis_plugin.legacy import QuantizationMode, calibrate, quantize
from ort_vitis_plugin.options.options import OptionWarning

if TYPE_CHECKING:
    from pathlib import Path
from tests.ort_vitis_plugin.legacy.networks import LINEAR, Reader, model_of, network, ops, relative_error, run, samples

pytestmark = pytest.mark.filterwarnings("ignore:.*is the interface of 2019:DeprecationWarning")


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


def test_black_nodes_stay_float(path: Path) -> None:
    parameters = calibrate(path, Reader(), black_nodes="conv1")
    with pytest.warns(OptionWarning, match="stay float.*conv1: x, c1"):
        quantized = quantize(network(), quantization_mode=LINEAR, static=True, quantization_params=parameters)
    assert ops(quantized)["Conv"] == ops(quantized)["QLinearConv"] == 1
    assert relative_error(quantized, network()) < 0.04


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
