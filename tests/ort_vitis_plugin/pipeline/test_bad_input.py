"""Bad input gets a typed error before any work, by either door: the culprit and the way out named, no file left."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime.quantization
import pytest
from onnx import ModelProto, helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

import ort_vitis_plugin as plugin
from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType
from ort_vitis_plugin.errors import (
    CalibrationError,
    ModelError,
    ModelNotFoundError,
    OptionError,
    OptionTypeError,
    OutputError,
    QuantizationError,
    UnknownNameError,
    UnknownOptionError,
    UnsupportedError,
)
from ort_vitis_plugin.testing import graph

Feed = dict[str, np.ndarray[Any, Any]]
Call = Callable[..., object]

OPTION_KEYS = {"input_nodes": "InputNodes", "output_nodes": "OutputNodes", "enable_dpu": "EnableDPU"}


def _through_onnxruntime(model: Any, output: Any, reader: Any, **arguments: Any) -> None:
    """onnxruntime's function, with the smallest option that asks for something of ours."""
    options = dict(arguments.pop("extra_options", {}))
    for argument, key in OPTION_KEYS.items():
        if argument in arguments:
            options[key] = arguments.pop(argument)
    options.setdefault("SelfCheck", True)
    arguments.setdefault("calibrate_method", CalibrationMethod.MinMax)
    onnxruntime.quantization.quantize_static(model, output, reader, extra_options=options, **arguments)


DOORS: dict[str, Call] = {"ours": plugin.quantize_static, "onnxruntime's": _through_onnxruntime}


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Call:
    return DOORS[request.param]


def network(opset: int = 17) -> ModelProto:
    return graph(
        "t (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y) "
        "{ [conv] h = Conv<pads = [1, 1, 1, 1]>(x, w) [act] y = Relu(h) }",
        opset,
        {"w": np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)},
    )


def feeds(count: int = 2) -> list[Feed]:
    random = np.random.default_rng(0)
    return [{"x": random.uniform(-1, 1, (1, 3, 6, 6)).astype(np.float32)} for _ in range(count)]


class Reader:
    """Notices whether it was asked."""

    def __init__(self, samples: list[Any] | None = None) -> None:
        self._rest: Iterator[Any] = iter(feeds() if samples is None else samples)
        self.asked = 0

    def get_next(self) -> Any:
        self.asked += 1
        return next(self._rest, None)


def refuse(
    door: Call,
    folder: Path,
    error: type[Exception],
    *words: str,
    model: Any = None,
    output: Any = None,
    reader: Any = None,
    before_work: bool = True,
    **arguments: Any,
) -> None:
    """The call raises ``error`` with all ``words``, asks the reader for nothing, leaves no file, changes no object."""
    source = network() if model is None else model
    target = folder / "quantized.onnx" if output is None else output
    reader = Reader() if reader is None else reader
    before = {path.name: path.stat().st_size for path in folder.rglob("*")}
    given = copy.deepcopy(arguments)
    serialized = source.SerializeToString(deterministic=True) if isinstance(source, ModelProto) else None
    with pytest.raises(error) as caught:
        door(source, target, reader, **arguments)
    assert isinstance(caught.value, QuantizationError)
    for word in words:
        assert word in str(caught.value), f"{word!r} is not in: {caught.value}"
    if before_work and isinstance(reader, Reader):
        assert reader.asked == 0, "calibration had begun"
    assert {path.name: path.stat().st_size for path in folder.rglob("*")} == before, "a file was left"
    assert arguments == given, "the caller's arguments were changed"
    if isinstance(source, ModelProto):
        assert source.SerializeToString(deterministic=True) == serialized, "the caller's model was changed"


# ---------------------------------------------------------------------- the model


def test_missing_file(door: Call, tmp_path: Path) -> None:
    refuse(door, tmp_path, ModelNotFoundError, "nowhere.onnx", "does not exist", model=str(tmp_path / "nowhere.onnx"))
    refuse(door, tmp_path, FileNotFoundError, "nowhere.onnx", model=tmp_path / "nowhere.onnx")


def test_a_folder(door: Call, tmp_path: Path) -> None:
    refuse(door, tmp_path, ModelNotFoundError, "is a folder", model=str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x00" * 64, b"\xff\xfe" * 50], ids=repr)
def test_not_an_onnx_file(door: Call, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.onnx"
    path.write_bytes(content)
    refuse(door, tmp_path, ModelError, "file.onnx", "not an ONNX model", model=str(path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(door: Call, tmp_path: Path) -> None:
    path = tmp_path / "file.onnx"
    onnx.save(network(), path)
    path.chmod(0)
    refuse(door, tmp_path, ModelNotFoundError, "file.onnx", model=str(path))


def test_missing_external_data(door: Call, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(network(), path, save_as_external_data=True, location="model.data", size_threshold=0)
    (tmp_path / "model.data").unlink()
    refuse(door, tmp_path, ModelNotFoundError, "external data", model=str(path))


@pytest.mark.parametrize("model", [None.__class__, 3, b"bytes", ["list"]], ids=["type", "int", "bytes", "list"])
def test_neither_path_nor_model(door: Call, tmp_path: Path, model: object) -> None:
    refuse(door, tmp_path, OptionTypeError, "model_input", model=model)


def test_empty_model(door: Call, tmp_path: Path) -> None:
    refuse(door, tmp_path, ModelError, "neither nodes nor outputs", model=ModelProto())


def test_invalid_graph(door: Call, tmp_path: Path) -> None:
    dangling = network()
    dangling.graph.node[0].input[1] = "nobody"
    refuse(door, tmp_path, ModelError, "nobody", model=dangling)
    cyclic = network()
    cyclic.graph.node[0].input[0] = "y"
    refuse(door, tmp_path, ModelError, model=cyclic)
    doubled = network()
    doubled.graph.node.append(helper.make_node("Neg", ["x"], ["y"]))
    refuse(door, tmp_path, ModelError, "y", model=doubled)


def test_unknown_operator(door: Call, tmp_path: Path) -> None:
    odd = network()
    odd.graph.node[1].op_type = "Reluu"
    refuse(door, tmp_path, ModelError, "Reluu", model=odd)


def test_opset_that_cannot_be_raised(door: Call, tmp_path: Path) -> None:
    old = network(8)
    old.graph.node[0].domain = ""
    old.graph.node[1].op_type = "Upsample"  # without scales it cannot be converted
    refuse(door, tmp_path, ModelError, model=old)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
def test_weights_that_are_not_finite(door: Call, tmp_path: Path, value: float) -> None:
    broken = network()
    array = onnx.numpy_helper.to_array(broken.graph.initializer[0]).copy()
    array[0, 0, 0, 0] = value
    broken.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(array, "w"))
    refuse(door, tmp_path, ModelError, "w", "NaN" if np.isnan(value) else "Inf", "exclude", model=broken)


def test_double_model(door: Call, tmp_path: Path) -> None:
    double = graph("t (double[2, 4] x) => (double[2, 5] y) { y = MatMul(x, w) }", 17, {"w": np.ones((4, 5))})
    refuse(door, tmp_path, UnsupportedError, "float64", "float32", model=double)


# ---------------------------------------------------------------------- names


def test_unknown_names(door: Call, tmp_path: Path) -> None:
    refuse(door, tmp_path, UnknownNameError, "nodes_to_exclude", "conw", "conv", nodes_to_exclude=["conw"])
    refuse(door, tmp_path, UnknownNameError, "nodes_to_quantize", "conw", nodes_to_quantize=["conw"])
    refuse(door, tmp_path, UnknownNameError, "input_nodes", "actt", "act", input_nodes=["actt"])
    refuse(door, tmp_path, UnknownNameError, "output_nodes", "nothing like it", output_nodes=["nothing like it"])
    refuse(door, tmp_path, UnknownNameError, "Convv", "Conv", op_types_to_quantize=["Convv"])
    refuse(door, tmp_path, UnknownNameError, "ipu_cmm", "ipu_cnn", extra_options={"Target": "ipu_cmm"})


@pytest.mark.parametrize("argument", ["nodes_to_exclude", "nodes_to_quantize", "op_types_to_quantize"])
@pytest.mark.parametrize("value", ["conv", (["conv"],), [1], 5], ids=repr)
def test_names_that_are_no_list_of_names(door: Call, tmp_path: Path, argument: str, value: object) -> None:
    refuse(door, tmp_path, OptionTypeError, argument, **{argument: value})


# ---------------------------------------------------------------------- options


def test_options(door: Call, tmp_path: Path) -> None:
    for misspelt, meant in (("ActivationSymetric", "ActivationSymmetric"), ("AdjustShiftcutt", "AdjustShiftCut")):
        refuse(door, tmp_path, UnknownOptionError, misspelt, meant, extra_options={misspelt: True})
    refuse(door, tmp_path, OptionError, "ActivationSymmetric", extra_options={"ActivationSymmetric": "yes"})
    refuse(door, tmp_path, OptionError, "CLESteps", extra_options={"CLESteps": "many"})
    refuse(door, tmp_path, OptionError, "MinMSEMode", extra_options={"MinMSEMode": "Some"})
    refuse(
        door,
        tmp_path,
        OptionError,
        "CUDAExecutionProvid",
        extra_options={"ExecutionProviders": ["CUDAExecutionProvid"]},
    )


def test_arguments_of_a_wrong_kind(tmp_path: Path) -> None:
    ours = plugin.quantize_static
    refuse(ours, tmp_path, OptionTypeError, "extra_options", extra_options=[("Target", "cpu")])
    refuse(ours, tmp_path, OptionTypeError, "per_channel", per_channel="yes")
    refuse(ours, tmp_path, QuantizationError, "QDK", quant_format="QDK")
    refuse(ours, tmp_path, QuantizationError, "MinMSEE", calibrate_method="MinMSEE")
    refuse(ours, tmp_path, QuantizationError, "QInt9", activation_type="QInt9")
    refuse(ours, tmp_path, QuantizationError, "7", weight_type=7.5)
    refuse(ours, tmp_path, OptionError, "EnableDPU", enable_dpu=True, extra_options={"EnableDPU": False})


WIDE = VitisQuantType.QInt32
IMPOSSIBLE: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "NPU and float scales": (
        ("MinMax", "PowerOfTwoMethod"),
        {"enable_dpu": True, "calibrate_method": CalibrationMethod.Percentile},
    ),
    "NPU and per channel": (
        ("per_channel", "include_cle"),
        {"enable_dpu": True, "per_channel": True, "calibrate_method": PowerOfTwoMethod.MinMSE},
    ),
    "NPU and reduce_range": (
        ("reduce_range",),
        {"enable_dpu": True, "reduce_range": True, "calibrate_method": PowerOfTwoMethod.MinMSE},
    ),
    "NPU and unsigned weights": (
        ("QInt8",),
        {"enable_dpu": True, "weight_type": QuantType.QUInt8, "calibrate_method": PowerOfTwoMethod.MinMSE},
    ),
    "wide type in native pairs": (("VitisQuantFormat.QDQ",), {"activation_type": WIDE}),
    "wide weights in native pairs": (("VitisQuantFormat.QDQ",), {"weight_type": VitisQuantType.QBFloat16}),
    "wide type in quantized operators": (("QOperator",), {"quant_format": QuantFormat.QOperator, "weight_type": WIDE}),
    "FixNeuron and unsigned": (
        ("FixNeuron",),
        {"quant_format": VitisQuantFormat.FixNeuron, "activation_type": QuantType.QUInt8},
    ),
    "DPU and another target": (("Target", "ipu_cnn"), {"enable_dpu": True, "extra_options": {"Target": "cpu"}}),
    "Int16Scale and powers of two": (
        ("Int16Scale",),
        {"calibrate_method": PowerOfTwoMethod.MinMSE, "extra_options": {"Int16Scale": True}},
    ),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_combinations(door: Call, tmp_path: Path, name: str) -> None:
    words, arguments = IMPOSSIBLE[name]
    words = tuple(word for word in words if word != "MinMax")
    refuse(door, tmp_path, QuantizationError, *words, **arguments)


# ---------------------------------------------------------------------- the output


def test_output_folder_is_missing(door: Call, tmp_path: Path) -> None:
    refuse(door, tmp_path, ModelNotFoundError, "no_such", output=str(tmp_path / "no_such" / "q.onnx"))


def test_output_is_a_folder(door: Call, tmp_path: Path) -> None:
    refuse(door, tmp_path, OutputError, "is a folder", output=str(tmp_path))


def test_output_is_the_input(door: Call, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(network(), path)
    refuse(door, tmp_path, OutputError, "is the input itself", model=str(path), output=str(path))


def test_output_folder_is_read_only(door: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere: the question is answered for it."""
    monkeypatch.setattr(os, "access", lambda path, mode: not (Path(path) == tmp_path and mode & os.W_OK))
    refuse(door, tmp_path, OutputError, "read-only")


# ---------------------------------------------------------------------- the reader


class Raising(Reader):
    def get_next(self) -> Any:
        if self.asked == 1:
            raise RuntimeError("disk gone")
        return super().get_next()


def bad_readers() -> dict[str, tuple[object, tuple[str, ...]]]:
    good = feeds(1)[0]["x"]
    return {
        "yields nothing": (Reader([]), ("no sample", "rewind")),
        "wrong name": (Reader([{"images": good}]), ("images", "x")),
        "close name": (Reader([{"X": good}]), ("'X'", "did you mean x")),
        "wrong shape": (Reader([{"x": good[:, :2]}]), ("x", "[1, 2, 6, 6]", "[1, 3, 6, 6]")),
        "wrong rank": (Reader([{"x": good[0]}]), ("x", "[3, 6, 6]")),
        "wrong dtype": (Reader([{"x": good.astype(np.float64)}]), ("x", "float64", "astype('float32')")),
        "integers": (Reader([{"x": good.astype(np.int64)}]), ("x", "int64")),
        "wrong shape later": (Reader([*feeds(2), {"x": good[:, :2]}]), ("sample 2", "x")),
        "an array": (Reader([good]), ("ndarray",)),
        "no reader": (5, ("int", "get_next")),
    }


@pytest.mark.parametrize("name", bad_readers())
def test_readers(door: Call, tmp_path: Path, name: str) -> None:
    reader, words = bad_readers()[name]
    refuse(door, tmp_path, CalibrationError, *words, reader=reader, before_work=False)


def test_what_the_reader_raises_keeps_its_type_and_says_where(door: Call, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="disk gone") as caught:
        door(network(), tmp_path / "q.onnx", Raising([*feeds(3)]))
    assert not isinstance(caught.value, QuantizationError)
    assert caught.value.__notes__ == ["raised by the calibration data reader at sample 1"]
    assert not list(tmp_path.iterdir())


def test_interrupting_calibration_leaves_no_file(door: Call, tmp_path: Path) -> None:
    class Interrupting(Reader):
        def get_next(self) -> Any:
            if self.asked == 1:
                raise KeyboardInterrupt
            return super().get_next()

    with pytest.raises(KeyboardInterrupt):
        door(network(), tmp_path / "q.onnx", Interrupting())
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------- what was quantized before


def test_a_quantized_model_is_handed_back_with_a_warning(tmp_path: Path) -> None:
    once = plugin.quantize_static(network(), None, feeds()).model
    with pytest.warns(UserWarning, match="quantized already"):
        again = plugin.quantize_static(once, None, feeds()).model
    assert [node.op_type for node in again.graph.node] == [node.op_type for node in once.graph.node]
    more = plugin.quantize_static(once, None, feeds(), extra_options={"QuantizeQuantized": True})
    assert more.model.graph.node


def test_good_input_passes(door: Call, tmp_path: Path) -> None:
    """The calls above fail for their reason, not for that of the harness."""
    options: dict[str, Any] = {"ActivationSymmetric": True}
    exclude, types = ["act"], ["Conv"]
    door(
        network(),
        tmp_path / "q.onnx",
        Reader(),
        nodes_to_exclude=exclude,
        op_types_to_quantize=types,
        extra_options=options,
    )
    assert (tmp_path / "q.onnx").exists()
    assert (options, exclude, types) == ({"ActivationSymmetric": True}, ["act"], ["Conv"])
    assert [path.name for path in tmp_path.iterdir()] == ["q.onnx"]
