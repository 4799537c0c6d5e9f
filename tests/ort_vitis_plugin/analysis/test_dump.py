"""dump_model writes the codes of all three kinds of QDQ and of FixNeuron, and floats, for one sample."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from ort_vitis_plugin import custom_ops, quantize_static
from ort_vitis_plugin.analysis.dump import dump_model
from ort_vitis_plugin.errors import CalibrationError, ModelError, ModelNotFoundError, OutputError
from ort_vitis_plugin.testing import graph, random_feeds

X = np.array([[0.3, -1.2, 700.0], [2.5, 0.0, -0.26]], np.float32)
W = np.array([[0.5, -0.25, 1.0], [0.75, 0.1, -1.5]], np.float32)


class Reader:
    def __init__(self, *feeds: dict[str, Any]) -> None:
        self.feeds = iter(feeds)

    def get_next(self) -> dict[str, Any] | None:
        return next(self.feeds, None)


def model_of(kind: str, dtype: Any = np.int8) -> onnx.ModelProto:
    """y = fq(x) + fq(W), names with slashes, scale 1/4."""
    dtype = np.dtype(dtype)
    element = helper.np_dtype_to_tensor_dtype(dtype)
    zero = np.zeros((), dtype)
    nodes = []
    initializers = [
        helper.make_tensor("W", TensorProto.FLOAT, W.shape, W.ravel()),
        helper.make_tensor("s", TensorProto.FLOAT, [], [0.25]),
        helper.make_tensor("z", element, [], zero.tobytes(), raw=True),
    ]
    for source, name in (("x", "/in/x"), ("W", "W")):
        out = f"{name}_DequantizeLinear_Output"
        if kind == "FixNeuron":
            nodes.append(
                helper.make_node(
                    "FixNeuron", [source, "s", "z"], [out], domain=custom_ops.CONTRIB_DOMAIN, bit_width="8", pos="2"
                )
            )
            continue
        domain, prefix = (custom_ops.VAI_DOMAIN, "Vitis") if kind == "Vitis" else ("", "")
        domain = {"contrib": custom_ops.CONTRIB_DOMAIN, "com.microsoft": "com.microsoft"}.get(kind, domain)
        nodes.append(helper.make_node(f"{prefix}QuantizeLinear", [source, "s", "z"], [f"{name}_q"], domain=domain))
        nodes.append(helper.make_node(f"{prefix}DequantizeLinear", [f"{name}_q", "s", "z"], [out], domain=domain))
    nodes.append(helper.make_node("Add", ["/in/x_DequantizeLinear_Output", "W_DequantizeLinear_Output"], ["/y"]))
    graph = helper.make_graph(
        nodes,
        "dumped",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("/y", TensorProto.FLOAT, ["N", 3])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if kind == "com.microsoft":
        model.opset_import.append(helper.make_opsetid(kind, 1))
    custom_ops.add_functions(model)
    return model


@pytest.mark.parametrize("kind", ["FixNeuron", "native", "com.microsoft", "Vitis", "contrib"])
def test_codes(kind: str, tmp_path: Path) -> None:
    model = model_of(kind)
    before = model.SerializeToString()
    dump_model(model, Reader({"x": X}, {"x": X * 0}), output_dir=tmp_path / "deep" / "dump")
    assert model.SerializeToString() == before
    folder = tmp_path / "deep" / "dump"
    names = {"_in_x_DequantizeLinear_Output": X, "W_DequantizeLinear_Output": W}
    expected = {f"{name}{ending}" for name in names for ending in (".bin", ".txt")}
    assert {path.name for path in folder.iterdir()} == expected | {"index.json"}
    for name, values in names.items():
        want = custom_ops.quantize_linear(values, 0.25, np.int8(0))
        np.testing.assert_array_equal(np.fromfile(folder / f"{name}.bin", np.int8), want.ravel())
        assert (folder / f"{name}.txt").read_text().split() == [str(code) for code in want.ravel()]
    index = {entry["tensor"]: entry for entry in json.loads((folder / "index.json").read_text())}
    entry = index["/in/x_DequantizeLinear_Output"]
    assert entry["file"] == "_in_x_DequantizeLinear_Output.bin"
    assert (entry["dtype"], entry["shape"], entry["pos"], entry["scale"]) == ("int8", [2, 3], 2, 0.25)
    assert entry["zero_point"] == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float16, ml_dtypes.bfloat16])
def test_wide_types(dtype: Any, tmp_path: Path) -> None:
    dump_model(model_of("Vitis", dtype), Reader({"x": X}), output_dir=tmp_path)
    dtype = np.dtype(dtype)
    bits = np.dtype(f"u{dtype.itemsize}")
    got = np.fromfile(tmp_path / "_in_x_DequantizeLinear_Output.bin", bits)
    want = custom_ops.quantize_linear(X, 0.25, np.zeros((), dtype)).view(bits)
    np.testing.assert_array_equal(got, want.ravel())


@pytest.mark.parametrize("kind", ["FixNeuron", "native", "Vitis"])
def test_floats(kind: str, tmp_path: Path) -> None:
    """Floats hold floats, also for a FixNeuron."""
    path = tmp_path / "a model.onnx"
    onnx.save(model_of(kind), str(path))
    dump_model(str(path), Reader({"x": X}), dump_float=True, output_dir=str(tmp_path / "out"))
    x, w = (custom_ops.fix_neuron(values, 0.25, np.int8(0)) for values in (X, W))
    for name, want in (("_in_x_DequantizeLinear_Output", x), ("W_DequantizeLinear_Output", w), ("_y", x + w)):
        np.testing.assert_array_equal(np.fromfile(tmp_path / "out" / f"{name}_float.bin", np.float32), want.ravel())
        text = [float(line) for line in (tmp_path / "out" / f"{name}_float.txt").read_text().split()]
        np.testing.assert_array_equal(np.float32(text), want.ravel())
    assert {path.name for path in tmp_path.iterdir()} == {"a model.onnx", "out"}


def test_per_channel_weight_without_quantize_node(tmp_path: Path) -> None:
    codes = np.array([[1, -2], [3, 4]], np.int8)
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["w", "s", "z"], ["w_f"], axis=0),
            helper.make_node("Add", ["x", "w_f"], ["y"]),
        ],
        "weight",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])],
        [
            helper.make_tensor("w", TensorProto.INT8, [2, 2], codes.tobytes(), raw=True),
            helper.make_tensor("s", TensorProto.FLOAT, [2], [0.5, 0.3]),
            helper.make_tensor("z", TensorProto.INT8, [2], [0, 0]),
        ],
    )
    dump_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), output_dir=tmp_path)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "w_f.bin", np.int8), codes.ravel())
    (entry,) = json.loads((tmp_path / "index.json").read_text())
    assert entry["axis"] == 0
    assert "pos" not in entry
    np.testing.assert_array_equal(np.float32(entry["scale"]), np.float32([0.5, 0.3]))


def test_random_input_takes_the_given_shape(tmp_path: Path) -> None:
    model = model_of("Vitis")
    del model.graph.node[-1], model.graph.output[:]
    model.graph.output.append(
        helper.make_tensor_value_info("/in/x_DequantizeLinear_Output", TensorProto.FLOAT, ["N", 3])
    )
    dump_model(model, random_data_reader_input_shape={"x": [4, 3]}, output_dir=tmp_path)
    assert np.fromfile(tmp_path / "_in_x_DequantizeLinear_Output.bin", np.int8).size == 12


def test_names_that_become_the_same(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["a/b"]), helper.make_node("Neg", ["a/b"], ["a_b"])],
        "clash",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("a_b", TensorProto.FLOAT, [2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    dump_model(model, Reader({"x": np.array([1, -1], np.float32)}), dump_float=True, output_dir=tmp_path)
    files = {entry["tensor"]: entry["file"] for entry in json.loads((tmp_path / "index.json").read_text())}
    assert len(set(files.values())) == 2
    np.testing.assert_array_equal(np.fromfile(tmp_path / files["a/b"], np.float32), [1, 0])
    np.testing.assert_array_equal(np.fromfile(tmp_path / files["a_b"], np.float32), [-1, 0])


def test_signature_is_the_manuals() -> None:
    parameters = inspect.signature(dump_model).parameters
    assert list(parameters) == [
        "model",
        "dump_data_reader",
        "random_data_reader_input_shape",
        "dump_float",
        "output_dir",
    ]
    assert [parameters[name].default for name in list(parameters)[1:]] == [None, {}, False, "./dump_results"]


def test_bad_input(tmp_path: Path) -> None:
    plain = model_of("Vitis")
    del plain.graph.node[:4]
    plain.graph.node[0].input[:] = ["x", "W"]
    with pytest.raises(ModelError, match="dump_float=True"):
        dump_model(plain, Reader({"x": X}), output_dir=tmp_path)
    with pytest.raises(ModelNotFoundError, match=r"nothing\.onnx"):
        dump_model(tmp_path / "nothing.onnx")
    with pytest.raises(CalibrationError, match="yields nothing"):
        dump_model(model_of("Vitis"), Reader(), output_dir=tmp_path)
    with pytest.raises(CalibrationError, match="lacks the input 'x'"):
        dump_model(model_of("Vitis"), Reader({"other": X}), output_dir=tmp_path)
    with pytest.raises(CalibrationError, match="fails on the sample"):
        dump_model(model_of("Vitis"), Reader({"x": X[:, :2]}), output_dir=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be made"):
        dump_model(model_of("Vitis"), Reader({"x": X}), output_dir=tmp_path / "file")


@pytest.mark.skipif(os.name == "nt", reason="file names of POSIX")
def test_only_slashes_are_replaced_and_floats_stay_apart(tmp_path: Path) -> None:
    """Names as AMD's tools give them; a tensor called like another's floats has files of its own."""
    source = graph("t (float[2, 4] x) => (float[2, 4] y) { a = Relu(x) b = Relu(a) c = Relu(b) y = Relu(c) }", 17)
    names = {"a": "onnx::Conv_501", "b": "/block/A*B", "c": "onnx::Conv_501_float"}
    for node in source.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    dump_model(source, random_feeds(source), dump_float=True, output_dir=str(tmp_path))
    found = {path.name for path in tmp_path.glob("*.bin")}
    assert found == {f"{name}_float.bin" for name in ("onnx::Conv_501", "_block_A*B", "onnx::Conv_501_float", "y")}
    assert len({name.lower() for name in found}) == len(found)


@pytest.mark.parametrize("quant_format", ["VitisQuantFormat.QDQ", "VitisQuantFormat.FixNeuron"])
def test_models_without_functions_are_dumped_too(quant_format: str, tmp_path: Path) -> None:
    values = {"w": np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)}
    source = graph("t (float[2, 4] x) => (float[2, 4] y) { y = MatMul(x, w) }", 17, values)
    written = quantize_static(source, None, random_feeds(source), quant_format=quant_format).model
    bare = ModelProto()
    bare.CopyFrom(written)
    del bare.functions[:]
    for model, folder in ((written, "written"), (bare, "bare")):
        dump_model(model, random_feeds(source), output_dir=str(tmp_path / folder))
    files = {path.name: path.read_bytes() for path in (tmp_path / "written").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "bare").iterdir()} == files
    assert len(files) > 4
