"""Paths, folders and processes: what the caller has stays as it is, and the output appears whole."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto

import ort_vitis_plugin

from .checks import assert_close, model, quantized, run_at, samples, weights


def matmul() -> ModelProto:
    return model("t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }", {"w": weights(1, 64, 64)})


def external(folder: Path, name: str = "model.onnx") -> Path:
    path = folder / name
    onnx.save_model(matmul(), path, save_as_external_data=True, location=f"{name}.bin", size_threshold=0)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("outside", [False, True], ids=["one file", "external data"])
def test_files_beside_the_model_stay(tmp_path: Path, outside: bool) -> None:
    path = external(tmp_path) if outside else tmp_path / "model.onnx"
    if not outside:
        onnx.save(matmul(), path)
    for name in ("model-inferred.onnx", "augmented_model.onnx", "model-opt.onnx", "model_inferred.onnx"):
        (tmp_path / name).write_bytes(b"a file of the user")
    before = contents(tmp_path)
    target = tmp_path / "other"
    target.mkdir()
    quantized(str(path), samples(matmul()), str(target / "q.onnx"), use_external_data_format=outside)
    after = contents(tmp_path)
    assert {name: data for name, data in after.items() if not name.startswith("other")} == before
    assert_close(matmul(), str(target / "q.onnx"), 25)


def test_spaces_and_letters_of_other_scripts(tmp_path: Path) -> None:
    folder = tmp_path / "modèle 模型 v1"
    folder.mkdir()
    path = external(folder, "mödel 1.onnx")
    output = folder / "sortie é.onnx"
    quantized(path, samples(matmul()), output, use_external_data_format=True)
    assert_close(matmul(), str(output), 25)


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "work").mkdir()
    external(tmp_path / "in")
    monkeypatch.chdir(tmp_path / "work")
    quantized("../in/model.onnx", samples(matmul()), "q.onnx", use_external_data_format=True)
    assert [name.split(".")[-1] for name in sorted(os.listdir(tmp_path / "work"))] == ["onnx", "data"]
    assert_close(matmul(), "q.onnx", 25)


def test_external_data_in_a_subfolder(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    onnx.save_model(
        matmul(), tmp_path / "model.onnx", save_as_external_data=True, location="weights/w.bin", size_threshold=0
    )
    result = quantized(tmp_path / "model.onnx", samples(matmul()), tmp_path / "q.onnx")
    assert_close(matmul(), result, 25)


def test_external_output_can_be_written_again(tmp_path: Path) -> None:
    for _ in range(2):
        quantized(matmul(), None, tmp_path / "q.onnx", use_external_data_format=True)
    assert_close(matmul(), str(tmp_path / "q.onnx"), 25)
    assert [name.split(".")[-1] for name in sorted(os.listdir(tmp_path))] == ["onnx", "data"]


PROGRAM = """
import sys
import numpy as np
from ort_vitis_plugin import quantize_static
samples = [{"x": np.random.default_rng(n).uniform(-1, 1, (1, 64)).astype(np.float32)} for n in range(3)]
quantize_static(sys.argv[1], sys.argv[2], samples)
"""


def test_two_processes_at_once(tmp_path: Path) -> None:
    """They read one input and write the same output: either file is whole."""
    path = external(tmp_path)
    root = Path(ort_vitis_plugin.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "plugins")])}
    command = [sys.executable, "-c", PROGRAM, str(path), str(tmp_path / "q.onnx")]
    started = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
    assert_close(matmul(), str(tmp_path / "q.onnx"), 15)
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "model.onnx.bin", "q.onnx"]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_model_beyond_two_gigabytes(tmp_path: Path) -> None:
    """2.2 GB of float weights in external data become 0.55 GB of codes."""
    rows, columns = 4096, 67584
    graph_text = "t (float[1, 4096] x) => (float[1, 4096] y) { h = MatMul(x, w0) y = MatMul(h, w1) }"
    source = model(graph_text)
    random = np.random.default_rng(0)
    offset = 0
    with (tmp_path / "w.bin").open("wb") as file:
        for name, shape in (("w0", (rows, columns)), ("w1", (columns, rows))):
            tensor = onnx.TensorProto(name=name, data_type=onnx.TensorProto.FLOAT, dims=shape)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            size = shape[0] * shape[1] * 4
            for key, value in (("location", "w.bin"), ("offset", offset), ("length", size)):
                tensor.external_data.add(key=key, value=str(value))
            source.graph.initializer.append(tensor)
            for _ in range(shape[0]):
                file.write((random.standard_normal(shape[1], dtype=np.float32) * 0.01).tobytes())
            offset += size
    onnx.save(source, tmp_path / "model.onnx")
    feed = {"x": random.uniform(-1, 1, (1, rows)).astype(np.float32)}
    output = tmp_path / "q.onnx"
    result = quantized(
        tmp_path / "model.onnx",
        [feed],
        output,
        use_external_data_format=True,
        extra_options={"SelfCheck": False},
    )
    del result
    (data,) = tmp_path.glob("q.onnx.*.data")
    assert data.stat().st_size < 0.6e9
    (found,) = run_at(str(output), [feed])
    assert np.isfinite(found["y"]).all()
