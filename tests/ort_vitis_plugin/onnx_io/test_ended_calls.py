"""A call that is ended at any of its file events leaves the old files or the new ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
import itertools, sys
from pathlib import Path
from ort_vitis_plugin.onnx_io.save import save_model
from tests.ort_vitis_plugin.onnx_io.test_ended_calls import network
path, first = Path(sys.argv[1]), int(sys.argv[2])
for number in itertools.count(first):
    save_model(network(float(number)), path, external_data=True)
    print(number, flush=True)
"""


def test_three_writers_and_a_reader(tmp_path: Path) -> None:
    """Each of 200 reads gives one of the written models, or says that the file is not there."""
    path = tmp_path / "q.onnx"
    save_model(network(0.0), path, external_data=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    firsts = (1000, 100_000, 200_000)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(first)], env=environment, stdout=subprocess.PIPE, text=True
        )
        for first in firsts
    ]
    found, missing = [], 0
    try:
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()  # all three are at work
        for _ in range(200):
            try:
                found.append(value_of(path))
            except (FileNotFoundError, onnx.checker.ValidationError):
                missing += 1
            time.sleep(0.001)
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    assert len(found) > missing
    assert len(set(found)) > 3
    save_model(network(5.0), path, external_data=True)
    assert value_of(path) == 5.0
    assert len([file for file in tmp_path.iterdir() if file.suffix == ".onnx"]) == 1
    assert not any(file.name.startswith(".") for file in tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_whole_call_ended_at_any_file_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Its own folder and the system's temporary one hold what they held before, or the new files."""
    folder = tmp_path / "all"
    old = tmp_path / "old"
    (old / "tmp").mkdir(parents=True)
    save_model(network(1.0), old / "q.onnx", external_data=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    before = {str(path.relative_to(old)) for path in old.rglob("*")}
    feeds = [{"x": np.ones((1, 64), np.float32)}]

    def reset() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(old, folder)

    def call() -> None:
        options = {"CalibrationCache": str(folder / "cache")}
        ort_vitis_plugin.quantize_static(
            network(2.0), folder / "q.onnx", feeds, use_external_data_format=True, extra_options=options
        )

    ended = 0
    for status in ended_at_every_event(folder, number, call, reset):
        ended += 1
        assert (os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)) in (number, 130, 0)
        left = {str(path.relative_to(folder)) for path in folder.rglob("*")}
        new = onnx.load(folder / "q.onnx").graph.name != "network 1.0"
        assert new or left - before <= {"cache"}, left
        assert not any(name.startswith((".", "tmp/")) for name in left), left
    assert ended > 20


MESSAGE = """
import os, signal, sys
from ort_vitis_plugin.onnx_io import whole_file
put = whole_file.Scratch.put
def ended(self, place):
    if sys.argv[2] == "before":
        os.kill(os.getpid(), int(sys.argv[1]))
        raise OSError("the file system went away")
    put(self, place)
    os.kill(os.getpid(), int(sys.argv[1]))
whole_file.Scratch.put = ended
from ort_vitis_plugin.cli.main import main
sys.exit(main(["convert-domain", "m.onnx", "-o", "q.onnx"]))
"""


ENDS = [
    (signal.SIGINT, "interrupted", 130, "before"),
    (signal.SIGTERM, "terminated", 143, "behind"),
    pytest.param(signal.SIGINT, "interrupted", 130, "behind", marks=pytest.mark.slow),
    pytest.param(signal.SIGTERM, "terminated", 143, "before", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("number", "word", "code", "when"), ENDS)
def test_the_message_says_what_is_written(
    tmp_path: Path, number: signal.Signals, word: str, code: int, when: str
) -> None:
    save_model(network(1.0), tmp_path / "m.onnx", external_data=False)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    answer = subprocess.run(
        [sys.executable, "-c", MESSAGE, str(int(number)), when],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    told = "nothing was written" if when == "before" else "q.onnx is written"
    assert (answer.returncode, answer.stderr) == (code, f"{word}: {told}\n")
    assert sorted(os.listdir(tmp_path)) == (["m.onnx"] if when == "before" else ["m.onnx", "q.onnx"])


def test_an_interrupt_keeps_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    rows = [{"x": np.full((1, 64), value, np.float32)} for value in range(10)]

    def interrupted() -> Iterator[dict[str, Any]]:
        yield from rows[:7]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        ort_vitis_plugin.calibrate(network(1.0), interrupted(), checkpoint=path, checkpoint_every=2)
    assert caught.value.__notes__ == [f"{path} is written"]
    assert ort_vitis_plugin.Calibration.load(path).samples == 6
    found = ort_vitis_plugin.calibrate(network(1.0), rows, checkpoint=path, checkpoint_every=2)
    assert found.samples == 10
    assert list(tmp_path.iterdir()) == []
