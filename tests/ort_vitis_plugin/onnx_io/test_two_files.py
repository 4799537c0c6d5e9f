"""A model and its weights in two files always agree."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from ort_vitis_plugin import errors
from ort_vitis_plugin.onnx_io.save import save_model
from ort_vitis_plugin.onnx_io.two_files import stored_bytes, weights_of
from ort_vitis_plugin.onnx_io.whole_file import protected

Build = Callable[..., onnx.ModelProto]


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_external_data_through_a_link_to_another_folder_are_refused(tmp_path: Path, graph: Build) -> None:
    model = graph(
        "t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }", constants={"w": np.ones((64, 64), np.float32)}
    )
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "q.onnx").write_bytes(b"old")
    (tmp_path / "q.onnx").symlink_to("real/q.onnx")
    with pytest.raises(errors.OutputError, match="beside the link; name the file itself"):
        save_model(model, tmp_path / "q.onnx", external_data=True)
    save_model(model, tmp_path / "q.onnx", external_data=False)
    assert onnx.load(tmp_path / "real" / "q.onnx") == model


def test_generations_of_external_data(tmp_path: Path, graph: Build) -> None:
    """The one before stays; what other models in the folder name stays for ever."""
    path = tmp_path / "q.onnx"
    text = "t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }"
    data = []
    for value in range(5):
        save_model(graph(text, constants={"w": np.full((64, 64), value, np.float32)}), path, external_data=True)
        data.append(next(iter(weights_of(path))))
        if value == 0:
            (tmp_path / "kept.onnx").write_bytes(path.read_bytes())
    assert names(tmp_path) == sorted(["kept.onnx", "q.onnx", data[0], data[3], data[4]])
    onnx.load(tmp_path / "kept.onnx")


def test_weights_stay_where_a_model_that_may_name_them_cannot_be_read(
    tmp_path: Path, graph: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "q.onnx"
    text = "t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }"
    for value in range(2):
        save_model(graph(text, constants={"w": np.full((64, 64), value, np.float32)}), path, external_data=True)
    (tmp_path / "unread.onnx").write_bytes(path.read_bytes())

    def refused(*_: object, **__: object) -> None:
        raise PermissionError("unread.onnx")

    monkeypatch.setattr("ort_vitis_plugin.onnx_io.two_files.mmap.mmap", refused)
    save_model(graph(text, constants={"w": np.full((64, 64), 2, np.float32)}), path, external_data=True)
    assert len([name for name in names(tmp_path) if name.endswith(".data")]) == 3


def test_values_of_attributes_are_weights_too(tmp_path: Path, graph: Build) -> None:
    model = graph("t (float[2] x) => (float[2] y) { c = Constant <value = float[2] {1, 2}> () y = Add(x, c) }")
    tensor = model.graph.node[0].attribute[0].t
    tensor.CopyFrom(onnx.TensorProto(name="c", data_type=onnx.TensorProto.FLOAT, dims=[2]))
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="c.data")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert weights_of(tmp_path / "m.onnx") == {"c.data"}


def test_equal_models_have_equal_files(tmp_path: Path, graph: Build) -> None:
    text = "t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }"
    model = graph(text, constants={"w": np.ones((64, 64), np.float32)})
    for folder in ("a", "b", "b"):
        (tmp_path / folder).mkdir(exist_ok=True)
        save_model(model, tmp_path / folder / "q.onnx", external_data=True)
    assert {file.name: file.read_bytes() for file in (tmp_path / "a").iterdir()} == {
        file.name: file.read_bytes() for file in (tmp_path / "b").iterdir()
    }


def test_the_size_of_a_model_counts_its_data(tmp_path: Path, graph: Build) -> None:
    text = "t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }"
    model = graph(text, constants={"w": np.ones((64, 64), np.float32)})
    for external in (False, True):
        folder = tmp_path / str(external)
        folder.mkdir()
        save_model(model, folder / "q.onnx", external_data=external)
        assert stored_bytes(folder / "q.onnx") == sum(file.stat().st_size for file in folder.iterdir()) > 64 * 64 * 4


def test_weights_of_bodies_leave_the_model_too(tmp_path: Path, graph: Build) -> None:
    model = graph(
        """t (float[1, 600] x, bool c) => (float[1, 600] y) {
            y = If (c) <
                then_branch = a () => (float[1, 600] p) { p = Add(x, v) },
                else_branch = b () => (float[1, 600] q) { q = Mul(x, w) }>
        }"""
    )
    values = np.random.default_rng(0).standard_normal((2, 600)).astype(np.float32)
    for entry, name, value in zip(model.graph.node[0].attribute, "vw", values, strict=True):
        entry.g.initializer.append(onnx.numpy_helper.from_array(value[None], name))
    path = tmp_path / "q.onnx"
    save_model(model, path, external_data=True)
    (name,) = weights_of(path)
    assert path.stat().st_size < 1500
    assert (tmp_path / name).stat().st_size == 2 * 600 * 4
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    x = np.ones((1, 600), np.float32)
    np.testing.assert_array_equal(session.run(None, {"x": x, "c": np.array(True)})[0], x + values[:1])
    np.testing.assert_array_equal(session.run(None, {"x": x, "c": np.array(False)})[0], x * values[1:])
    assert len(model.graph.node[0].attribute[0].g.initializer[0].raw_data) == 2400


def test_large_weights_begin_at_a_page(tmp_path: Path, graph: Build) -> None:
    """There onnxruntime can map them."""
    text = "t (float[1, 512] x) => (float[1, 512] y) { b = Add(x, v) h = MatMul(b, w) y = MatMul(h, u) }"
    draw = np.random.default_rng(0).standard_normal
    constants = {name: draw(shape).astype(np.float32) for name, shape in (("v", 512), ("w", (512, 512)))}
    model = graph(text, constants={**constants, "u": constants["w"].T.copy()})
    save_model(model, tmp_path / "q.onnx", external_data=True)
    bare = onnx.load(tmp_path / "q.onnx", load_external_data=False)
    offsets = [{e.key: e.value for e in tensor.external_data}["offset"] for tensor in bare.graph.initializer]
    assert offsets == ["0", "4096", str(4096 + (1 << 20))]
    for tensor in onnx.load(tmp_path / "q.onnx").graph.initializer:
        expected = constants["w"].T if tensor.name == "u" else constants[tensor.name]
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), expected)


def test_a_stream_has_no_second_file(graph: Build) -> None:
    with pytest.raises(errors.OutputError, match="need a model in a file: name one"):
        save_model(graph("t (float[2] x) => (float[2] y) { y = Relu(x) }"), "-", external_data=True)


def test_weights_that_the_call_reads_are_not_replaced(tmp_path: Path, graph: Build) -> None:
    model = graph(
        "t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }", constants={"w": np.ones((64, 64), np.float32)}
    )
    path = tmp_path / "q.onnx"
    save_model(model, path, external_data=True)
    before, (name,) = names(tmp_path), weights_of(path)
    with protected([tmp_path / name]), pytest.raises(errors.OutputError, match="is read by this call"):
        save_model(model, path, external_data=True)
    assert names(tmp_path) == before
    onnx.load(path)


def test_what_is_no_model_names_no_weights(tmp_path: Path) -> None:
    (tmp_path / "q.onnx").write_bytes(b"\xff\xff\xff")
    assert weights_of(tmp_path / "q.onnx") == weights_of(tmp_path / "none.onnx") == set()
