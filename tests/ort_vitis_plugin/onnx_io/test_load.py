"""Bad input is refused by a typed error before any work; what is read is never changed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin import errors
from ort_vitis_plugin.onnx_io.load import load_model

Build = Callable[..., onnx.ModelProto]

TEXT = "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { y = Conv(x, w) }"


@pytest.fixture
def model(graph: Build) -> onnx.ModelProto:
    weights = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
    return graph(TEXT, constants={"w": weights})


class NeverRead:
    """Fails the test when calibration starts."""

    def get_next(self) -> Any:
        raise AssertionError("work began before the request was checked")


def refused(source: Any, error: type[Exception], message: str, output: Any = None, **arguments: Any) -> None:
    with pytest.raises(error, match=message) as caught:
        ort_vitis_plugin.quantize_static(source, output, arguments.pop("reader", NeverRead()), **arguments)
    assert isinstance(caught.value, errors.QuantizationError)


def test_missing_file(tmp_path: Path) -> None:
    refused(tmp_path / "no.onnx", FileNotFoundError, "'.*no.onnx' does not exist")
    refused(str(tmp_path), errors.ModelNotFoundError, "is a folder; give the path of an .onnx file")
    refused("m\0.onnx", errors.ModelNotFoundError, r"'m\\x00.onnx' is no path of a file|does not exist")


def test_unreadable_file(tmp_path: Path, model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root reads everything, so the refusal of the system is played."""
    onnx.save(model, tmp_path / "m.onnx")

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(onnx, "load", forbidden)
    refused(tmp_path / "m.onnx", errors.ModelNotFoundError, "cannot be read: .*Permission denied")


@pytest.mark.parametrize("data", [b"", b"hello, world", b"\x08\x07" * 500, os.urandom(2000)], ids=len)
def test_not_an_onnx_file(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(data)
    refused(tmp_path / "m.onnx", errors.ModelError, "is not an ONNX model")


def test_truncated_file(tmp_path: Path, model: onnx.ModelProto) -> None:
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString()[:-40])
    refused(tmp_path / "m.onnx", errors.ModelError, "is not an ONNX model")


def test_missing_external_data(tmp_path: Path, model: onnx.ModelProto) -> None:
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    (tmp_path / "m.data").unlink()
    refused(tmp_path / "m.onnx", FileNotFoundError, "keep the data file beside the model")


def test_what_is_no_model() -> None:
    refused(3, TypeError, "takes a path or a ModelProto, not int")
    refused(onnx.ModelProto(), errors.ModelError, "empty ModelProto")


def test_weights_that_are_not_finite(model: onnx.ModelProto, reader: Callable[..., Any]) -> None:
    weights = onnx.numpy_helper.to_array(model.graph.initializer[0]).copy()
    for value in (np.nan, np.inf):
        weights[0, 0, 0, 0] = value
        model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
        refused(model, errors.QuantizationError, "w", reader=reader(model))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"nodes_to_exclude": ["Con"]}, errors.UnknownNameError, "nodes_to_exclude: the model has no node 'Con'"),
        ({"nodes_to_quantize": ["Con"]}, errors.UnknownNameError, "nodes_to_quantize: the model has no node"),
        ({"input_nodes": ["Con"]}, errors.UnknownNameError, "input_nodes: the model has no node or tensor"),
        ({"output_nodes": ["Con"]}, errors.UnknownNameError, "output_nodes: the model has no node or tensor"),
        ({"op_types_to_quantize": ["Conw"]}, errors.UnknownNameError, "no op type 'Conw'; did you mean Conv"),
        ({"op_types_to_quantize": "Conv"}, errors.OptionTypeError, r"write \['Conv'\]"),
        ({"per_channel": "yes"}, errors.OptionTypeError, "per_channel takes True or False"),
        ({"quant_format": "QDP"}, errors.UnknownNameError, "QDP is not a known format"),
        ({"calibrate_method": "MinMXE"}, errors.UnknownNameError, "MinMXE is not a known calibration method"),
        ({"activation_type": "QInt9"}, errors.UnsupportedError, "is not a quantization type"),
        ({"extra_options": {"MinMSEMod": "All"}}, errors.UnknownOptionError, "did you mean MinMSEMode"),
        ({"extra_options": {"MinMSEMode": 3}}, errors.OptionTypeError, "MinMSEMode"),
        ({"extra_options": [1]}, errors.OptionTypeError, "takes a dict"),
        ({"execution_providers": ["NoSuchProvider"]}, errors.OptionError, "'NoSuchProvider' is not available"),
        ({"enable_dpu": True, "per_channel": True}, errors.UnsupportedError, "per_channel=True"),
        ({"enable_dpu": True, "reduce_range": True}, errors.UnsupportedError, "reduce_range=True"),
        (
            {"enable_dpu": True, "weight_type": ort_vitis_plugin.QuantType.QUInt8},
            errors.UnsupportedError,
            "weight_type=QUInt8",
        ),
        (
            {"enable_dpu": True, "calibrate_method": ort_vitis_plugin.CalibrationMethod.MinMax},
            errors.UnsupportedError,
            "PowerOfTwoMethod.MinMSE",
        ),
        (
            {"activation_type": ort_vitis_plugin.VitisQuantType.QInt32},
            errors.UnsupportedError,
            "VitisQuantFormat.QDQ",
        ),
        ({"enable_dpu": True, "extra_options": {"Target": "cpu"}}, errors.OptionError, "give one of them"),
        ({"enable_dpu": True, "extra_options": {"EnableDPU": False}}, errors.OptionError, "contradicts"),
    ],
)
def test_refused_before_calibration(
    model: onnx.ModelProto, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    refused(model, error, message, **arguments)


def test_unknown_argument(model: onnx.ModelProto) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'enable_dpo'"):
        ort_vitis_plugin.quantize_static(model, None, None, enable_dpo=True)


def test_an_error_of_the_reader_keeps_its_type_and_leaves_no_file(tmp_path: Path, model: onnx.ModelProto) -> None:
    class Broken:
        def __init__(self) -> None:
            self.left = 2

        def get_next(self) -> Any:
            if not self.left:
                raise RuntimeError("the camera fell over")
            self.left -= 1
            return {"x": np.ones((1, 3, 6, 6), np.float32)}

    with pytest.raises(Exception, match=r"camera fell over|sample") as caught:
        ort_vitis_plugin.quantize_static(model, tmp_path / "q.onnx", Broken())
    chain = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert any(isinstance(link, RuntimeError) and "camera" in str(link) for link in chain)
    assert list(tmp_path.iterdir()) == []


def test_loading_gives_a_message_of_its_own(tmp_path: Path, model: onnx.ModelProto) -> None:
    copy = load_model(model)
    copy.graph.node[0].op_type = "Other"
    assert model.graph.node[0].op_type == "Conv"
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    model = onnx.load(tmp_path / "m.onnx")
    loaded = load_model(tmp_path / "m.onnx")
    np.testing.assert_array_equal(
        onnx.numpy_helper.to_array(loaded.graph.initializer[0]), onnx.numpy_helper.to_array(model.graph.initializer[0])
    )
    bare = load_model(tmp_path / "m.onnx", data=False)
    assert bare.graph.initializer[0].data_location == onnx.TensorProto.EXTERNAL
