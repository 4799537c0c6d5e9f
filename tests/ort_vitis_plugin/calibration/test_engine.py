"""A calibration is the same to the bit from a checkpoint and after an interrupt, too; bad samples are told."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.calibration import Calibration, calibration_of
from ort_vitis_plugin.calibration.observe import NonFinite, Sample
from ort_vitis_plugin.errors import CalibrationError
from tests.ort_vitis_plugin.calibration.sources import (
    SOURCES,
    TENSORS,
    Ranged,
    Reader,
    content,
    expected,
    feed,
    network,
    spoiled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("count", [1, 7, 40])
def test_one_process(source: str, count: int) -> None:
    assert content(calibration_of(network(), SOURCES[source](count), TENSORS)) == expected(count)


def test_a_reader_that_raises_names_the_sample(tmp_path: Path) -> None:
    def reader() -> Iterator[dict[str, np.ndarray]]:
        yield from (feed(index) for index in range(20))
        raise OSError("disk gone")

    for options in ({}, {"executor": ThreadPoolExecutor(2)}, {"checkpoint": tmp_path / "c"}):
        with pytest.raises(OSError, match="disk gone") as caught:
            calibration_of(network(), reader(), TENSORS, **options)  # type: ignore[arg-type]
        assert caught.value.__notes__ == ["raised by the calibration data reader at sample 20"]
    assert Calibration.load(tmp_path / "c").samples == 20


def test_no_sample_is_an_error() -> None:
    for executor in (None, ThreadPoolExecutor(1)):
        with pytest.raises(CalibrationError, match="no sample"):
            calibration_of(network(), [], TENSORS, executor=executor)


def test_non_finite_samples_are_reported_or_an_error() -> None:
    for executor in (None, ThreadPoolExecutor(2)):
        made = calibration_of(network(), spoiled(30), ["x"], executor=executor)
        assert made.non_finite == [NonFinite("x", 5, 1, 0), NonFinite("x", 29, 0, 1)]
        with pytest.raises(CalibrationError, match="sample 5 puts 1 NaN and 0 Inf into tensor x"):
            calibration_of(network(), spoiled(30), ["x"], executor=executor, non_finite="error")


def test_a_tensor_without_a_finite_value_is_an_error() -> None:
    feeds = [{"x": np.full((2, 4), np.nan, np.float32)}]
    with pytest.raises(CalibrationError, match="tensor x has not a single finite value in 1 samples"):
        calibration_of(network(), feeds, ["x"])


def test_a_checkpoint_is_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "check point"

    class StoppedError(Exception):
        pass

    def stop(sample: Sample) -> None:
        if sample.index == 25:
            raise StoppedError

    for executor in (None, ThreadPoolExecutor(2)):
        for source in SOURCES.values():
            with pytest.raises(StoppedError):
                calibration_of(network(), source(40), TENSORS, checkpoint=path, checkpoint_every=10, on_sample=stop)
            assert Calibration.load(path).samples == 20
            seen: list[int] = []
            made = calibration_of(
                network(),
                source(40),
                TENSORS,
                checkpoint=path,
                executor=executor,
                on_sample=lambda sample: seen.append(sample.index),  # noqa: B023
            )
            assert content(made) == expected(40)
            assert seen == list(range(20, 40))
            assert not path.exists()


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor], ids=["here", "in threads"])
def test_an_interrupted_calibration_goes_on(pool: Any, tmp_path: Path) -> None:
    """Ctrl-C in the reader or in the middle of a sample's work: what was counted is kept, and nothing else."""

    def interrupted() -> Iterator[dict[str, np.ndarray]]:
        yield from (feed(index) for index in range(25))
        raise KeyboardInterrupt

    path = tmp_path / "c"
    executor = pool(2) if pool else None
    with pytest.raises(KeyboardInterrupt):
        calibration_of(network(), interrupted(), TENSORS, checkpoint=path, checkpoint_every=10, executor=executor)
    kept = Calibration.load(path).samples if path.exists() else 0
    assert kept in ((20,) if executor is None else (0, 10, 20))  # parts in flight are given up
    assert [each.name for each in tmp_path.iterdir()] in (["c"], [])
    made = calibration_of(network(), Ranged(40), TENSORS, checkpoint=path, checkpoint_every=10, executor=executor)
    assert content(made) == expected(40)
    assert list(tmp_path.iterdir()) == []


CALIBRATES_SLOWLY = """
import signal, sys, time, numpy as np, onnx
from ort_vitis_plugin.calibration import calibration_of

def feeds():
    for index in range(1000):
        time.sleep(0.02)
        yield {"x": np.full((2, 4), index, np.float32)}

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
calibration_of(onnx.load(sys.argv[1]), feeds(), ["x", "h"], checkpoint=sys.argv[2], checkpoint_every=5)
"""


def test_a_signal_ends_it_at_once(tmp_path: Path) -> None:
    onnx.save(network(), str(tmp_path / "m.onnx"))
    checkpoint = tmp_path / "c"
    command = [sys.executable, "-c", CALIBRATES_SLOWLY, str(tmp_path / "m.onnx"), str(checkpoint)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(600):
            if checkpoint.exists() or process.poll() is not None:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=20)
    assert process.returncode in (-signal.SIGINT, 130)
    assert told.rstrip().endswith("KeyboardInterrupt")
    kept = Calibration.load(checkpoint)
    assert kept.samples % 5 == 0
    assert kept.sketches["x"].maximum == kept.samples - 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["c", "m.onnx"]


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    calibration_of(network(), Ranged(2), TENSORS).save(tmp_path / "c")
    other = network()
    other.graph.node[1].op_type = "Tanh"
    with pytest.raises(CalibrationError, match="another model"):
        calibration_of(other, Ranged(4), TENSORS, checkpoint=tmp_path / "c")
    with pytest.raises(CalibrationError, match="holds 2 samples, but the reader has only 1"):
        calibration_of(network(), Reader(1), TENSORS, checkpoint=tmp_path / "c")


def test_what_to_do_with_nan_has_two_values() -> None:
    with pytest.raises(CalibrationError, match="non_finite is 'ignore'; it is 'report' or 'error'"):
        calibration_of(network(), Reader(2), TENSORS, non_finite="ignore")


def test_the_first_tensor_that_is_not_finite_is_named() -> None:
    feeds = [{"x": np.full((1, 4), np.inf, np.float32)}]
    with pytest.raises(CalibrationError, match="sample 0 puts 0 NaN and 4 Inf into tensor x"):
        calibration_of(network(), feeds, ["x", "h", "r"], non_finite="error")
