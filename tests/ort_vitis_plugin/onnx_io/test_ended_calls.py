"""A call that is ended at any of its file events leaves the old files or the new ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin.onnx_io.save import save_model
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.onnx_io.kill_points import ended_at_every_event

ROOT = Path(ort_vitis_plugin.__file__).parents[1]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")


def network(value: float) -> onnx.ModelProto:
    """A MatMul whose weights, and whose name, are that value."""
    text = "t (float[1, 64] x) => (float[1, 64] y) { y = MatMul(x, w) }"
    model = graph(text, constants={"w": np.full((64, 64), value, np.float32)})
    model.graph.name = f"network {value}"
    return model


def value_of(path: Path) -> float:
    """The one value that the model at a path was made of; raises where name and weights disagree."""
    model = onnx.load(path)
    weights = onnx.numpy_helper.to_array(model.graph.initializer[0])
    (value,) = set(weights.ravel().tolist())
    assert model.graph.name == f"network {value}"
    return float(value)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("external", [False, True], ids=["one file", "two files"])
def test_ended_at_any_file_event(tmp_path: Path, number: signal.Signals, external: bool) -> None:
    old, folder = tmp_path / "old", tmp_path / "out"
    old.mkdir()
    for value in (1.0, 2.0):
        save_model(network(value), old / "q.onnx", external_data=external)
    path = folder / "q.onnx"

    def reset() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(old, folder)

    before = {file.name for file in old.iterdir()}
    found = []
    for _ in ended_at_every_event(
        folder, number, lambda: save_model(network(3.0), path, external_data=external), reset
    ):
        found.append(value_of(path))
        names = {file.name for file in folder.iterdir()}
        if number != signal.SIGKILL:
            assert not any(name.startswith(".") for name in names)
            assert names == before or found[-1] == 3.0
        save_model(network(4.0), path, external_data=external)
        left = sorted(file.name for file in folder.iterdir())
        assert value_of(path) == 4.0
        assert len(left) <= (3 if external else 1), left
        assert not any(name.startswith(".") for name in left)
    assert found[0] == 2.0 or number != signal.SIGKILL
    assert set(found) == {2.0, 3.0} or number != signal.SIGKILL
    assert len(found) > 5


WRITER = """
import sys
from pathlib import Path
from ort_vitis_plugin.onnx_io.save import save_model
from tests.ort_vitis_plugin.onnx_io.test_ended_calls import network
path, rounds = Path(sys.argv[1]), int(sys.argv[3])
for number in range(rounds):
    save_model(network(float(int(sys.argv[2]) * 1000 + number)), path, external_data=True)
"""


def test_three_writers_and_a_reader(tmp_path: Path) -> None:
    """Every read gives one of the written models, or says that the file is not there."""
    path = tmp_path / "q.onnx"
    save_model(network(0.0), path, external_data=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number), "40"], env=environment)
        for number in (1, 2, 3)
    ]
    read, missing, end = 0, 0, time.monotonic() + 60
    while any(writer.poll() is None for writer in writers) and time.monotonic() < end:
        try:
            value_of(path)
            read += 1
        except (FileNotFoundError, onnx.checker.ValidationError):
            missing += 1
        time.sleep(0.002)
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    value_of(path)
    assert read > missing
    assert len(list(tmp_path.iterdir())) <= 3
