"""calibrate() of 2019: ranges of selected tensors, and what it refuses."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ort_vitis_plugin.errors import (
    CalibrationError,
    ModelNotFoundError,
    OptionError,
    OptionTypeError,
    UnknownNameError,
)
from ort_vitis_plugin.legacy import calibrate

if TYPE_CHECKING:
    from pathlib import Path
from tests.ort_vitis_plugin.legacy.networks import Reader, model_of, ops, samples

pytestmark = pytest.mark.filterwarnings("ignore:.*is the interface of 2019:DeprecationWarning")


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


def test_augmented_model_is_kept_on_request(path: Path) -> None:
    calibrate(path, Reader(), augmented_model_path=path.with_name("augmented.onnx"))
    assert ops(onnx.load(path.with_name("augmented.onnx")))["ReduceMin"] > 0


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
