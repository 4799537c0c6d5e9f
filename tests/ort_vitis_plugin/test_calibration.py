"""A calibration is the same to the bit however it was made, survives on disk, and refuses another model."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, parser
from onnxruntime.quantization import CalibrationDataReader

import ort_vitis_plugin
from ort_vitis_plugin import calibration as module
from ort_vitis_plugin.calibration import Calibration, calibrate, fingerprint
from ort_vitis_plugin.errors import CalibrationError, UnsupportedError
from ort_vitis_plugin.observe import NonFinite, Sample, observe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TENSORS = ["x", "h", "r", "out", "w"]


def network() -> ModelProto:
    model = parser.parse_model(
        """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[N, 4] x) => (float[N, 3] out) <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5}>
        { h = MatMul(x, w)  r = Relu(h)  out = Sigmoid(r) }
        """
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def feed(index: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(index).standard_normal((3 + index % 2, 4)).astype(np.float32)}


class Reader(CalibrationDataReader):
    """One that can only be read from the start to the end."""

    def __init__(self, count: int) -> None:
        self.feeds = iter([feed(index) for index in range(count)])

    def get_next(self) -> dict[str, np.ndarray] | None:  # type: ignore[override]
        return next(self.feeds, None)


class Ranged(CalibrationDataReader):
    """One that can be read from the middle, as ORT's CalibStridedMinMax wants it."""

    def __init__(self, count: int, pause: float = 0.0) -> None:
        self.count, self.pause = count, pause
        self.set_range(0, count)

    def __len__(self) -> int:
        return self.count

    def set_range(self, start_index: int, end_index: int) -> None:
        self.at, self.end = start_index, end_index

    def get_next(self) -> dict[str, np.ndarray] | None:  # type: ignore[override]
        if self.at >= self.end:
            return None
        time.sleep(self.pause)
        self.at += 1
        return feed(self.at - 1)


class Indexed:
    """A data set with a length and an index, which raises no IndexError."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, at: int) -> dict[str, np.ndarray]:
        return feed(at)


SOURCES: dict[str, Callable[[int], Any]] = {
    "reader": Reader,
    "ranged": Ranged,
    "indexed": Indexed,
    "list": lambda count: [feed(index) for index in range(count)],
    "generator": lambda count: (feed(index) for index in range(count)),
}


def content(calibration: Calibration) -> tuple[dict[str, bytes], int, list[NonFinite]]:
    saved = {name: sketch.to_bytes() for name, sketch in calibration.sketches.items()}
    return saved, calibration.samples, calibration.non_finite


def expected(count: int) -> tuple[dict[str, bytes], int, list[NonFinite]]:
    seen = observe(network(), TENSORS, [feed(index) for index in range(count)])
    return {name: sketch.to_bytes() for name, sketch in seen.items()}, seen.samples, seen.non_finite


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("count", [1, 7, 40])
def test_one_process(source: str, count: int) -> None:
    assert content(calibrate(network(), SOURCES[source](count), TENSORS)) == expected(count)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("count", [1, 40, 300])
def test_threads_give_the_same_bits(source: str, count: int) -> None:
    with ThreadPoolExecutor(3) as executor:
        assert content(calibrate(network(), SOURCES[source](count), TENSORS, executor=executor)) == expected(count)


def test_processes_give_the_same_bits(tmp_path: Path) -> None:
    onnx.save(network(), str(tmp_path / "model.onnx"))
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        for source in ("ranged", "generator"):
            made = calibrate(tmp_path / "model.onnx", SOURCES[source](20), TENSORS, executor=executor)
            assert content(made) == expected(20)


def test_samples_come_in_order_and_apart() -> None:
    told: list[Sample] = []
    with ThreadPoolExecutor(3) as executor:
        calibrate(network(), Ranged(40), TENSORS, executor=executor, on_sample=told.append, apart=True)
    assert [sample.index for sample in told] == list(range(40))
    alone = observe(network(), ["h"], [feed(17)])
    assert told[17].sketches["h"] == alone["h"]


class Dying:
    """An executor that loses the worker of some submissions."""

    def __init__(self, lose: Callable[[int], bool], error: BaseException) -> None:
        self.lose, self.error, self.submitted = lose, error, 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.lose(self.submitted):
            future.set_exception(self.error)
        else:
            future.set_result(function(*arguments))
        self.submitted += 1
        return future


@pytest.mark.parametrize("error", [ConnectionResetError("gone"), BrokenProcessPool("dead")])
def test_a_lost_part_runs_again(error: Exception) -> None:
    executor = Dying(lambda number: number % 3 == 1, error)
    assert content(calibrate(network(), Ranged(40), TENSORS, executor=executor)) == expected(40)
    assert executor.submitted > 16


def test_a_pool_without_workers_ends_in_this_process() -> None:
    executor = Dying(lambda number: number > 3, BrokenProcessPool("dead"))
    assert content(calibrate(network(), Ranged(40), TENSORS, executor=executor)) == expected(40)


def test_a_process_that_is_killed_costs_no_sample() -> None:
    pids: list[int] = []
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        pids.append(executor.submit(os.getpid).result())

        def kill(sample: Sample) -> None:
            if pids:
                os.kill(pids.pop(), signal.SIGKILL)

        made = calibrate(network(), Ranged(40, pause=0.01), TENSORS, executor=executor, on_sample=kill)
    assert content(made) == expected(40)


def test_an_error_of_the_work_is_not_taken_for_a_lost_worker() -> None:
    class Failing(Ranged):
        def get_next(self) -> dict[str, np.ndarray] | None:  # type: ignore[override]
            if self.at == 21:
                raise OSError("disk gone")
            return super().get_next()

    for executor in (None, ThreadPoolExecutor(2)):
        with pytest.raises(CalibrationError, match="at sample 21: disk gone") as caught:
            calibrate(network(), Failing(40), TENSORS, executor=executor)
        assert isinstance(caught.value.__cause__, OSError)


def test_a_reader_that_raises_names_the_sample(tmp_path: Path) -> None:
    def reader() -> Iterator[dict[str, np.ndarray]]:
        yield from (feed(index) for index in range(20))
        raise OSError("disk gone")

    for options in ({}, {"executor": ThreadPoolExecutor(2)}, {"checkpoint": tmp_path / "c"}):
        with pytest.raises(CalibrationError, match="at sample 20: disk gone") as caught:
            calibrate(network(), reader(), TENSORS, **options)  # type: ignore[arg-type]
        assert isinstance(caught.value.__cause__, OSError)
    assert Calibration.load(tmp_path / "c").samples == 20


class Marking(Indexed):
    """Leaves a file named after the process that reads it."""

    def __init__(self, count: int, folder: Path) -> None:
        super().__init__(count)
        self.folder = folder

    def __getitem__(self, at: int) -> dict[str, np.ndarray]:
        (self.folder / str(os.getpid())).touch()
        return super().__getitem__(at)


class MarkingReader(Ranged):
    def __init__(self, count: int, folder: Path) -> None:
        super().__init__(count)
        self.folder = folder

    def get_next(self) -> dict[str, np.ndarray] | None:  # type: ignore[override]
        (self.folder / str(os.getpid())).touch()
        return super().get_next()


@pytest.mark.parametrize("source", [Marking, MarkingReader])
def test_at_the_door_samples_are_read_by_the_workers(source: Any, tmp_path: Path) -> None:
    """Where they can be read from the middle: so a slow reader gains from more workers, too."""
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        made = ort_vitis_plugin.calibrate(network(), source(40, tmp_path), executor=executor)
    assert {each.name for each in tmp_path.iterdir()}.isdisjoint({str(os.getpid())})
    assert content(made) == content(ort_vitis_plugin.calibrate(network(), Reader(40)))
    assert made.samples == 40


def test_a_worker_makes_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many parts it gets, each with a copy of the job."""
    made: list[int] = []

    class Counted(module.Observer):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            made.append(1)
            super().__init__(*arguments, **named)

    class Copying(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Any:
            return super().submit(function, *pickle.loads(pickle.dumps(arguments)))

    monkeypatch.setattr(module, "Observer", Counted)
    with Copying(1) as executor:
        assert content(calibrate(network(), Ranged(40), TENSORS, executor=executor, configure=partial(_nothing, 1)))
        assert len(made) == 1
        assert content(calibrate(network(), Ranged(40), TENSORS, executor=executor, configure=partial(_nothing, 2)))
        assert len(made) == 2


def _nothing(_: int, options: Any) -> None:
    assert options is not None


def test_a_reader_that_cannot_travel_is_read_here() -> None:
    class Local(Ranged):
        pass

    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        assert content(calibrate(network(), Local(20), TENSORS, executor=executor)) == expected(20)


def test_what_is_no_executor_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"str is no executor.*submit"):
        calibrate(network(), Ranged(1), TENSORS, executor="dask")  # type: ignore[arg-type]


def test_no_sample_is_an_error() -> None:
    for executor in (None, ThreadPoolExecutor(1)):
        with pytest.raises(CalibrationError, match="no sample"):
            calibrate(network(), [], TENSORS, executor=executor)


def spoiled(count: int) -> list[dict[str, np.ndarray]]:
    feeds = [feed(index) for index in range(count)]
    feeds[5]["x"][0, 0] = np.nan
    feeds[count - 1]["x"][1, 1] = np.inf
    return feeds


def test_non_finite_samples_are_reported_or_an_error() -> None:
    for executor in (None, ThreadPoolExecutor(2)):
        made = calibrate(network(), spoiled(30), ["x"], executor=executor)
        assert made.non_finite == [NonFinite("x", 5, 1, 0), NonFinite("x", 29, 0, 1)]
        with pytest.raises(CalibrationError, match="sample 5 puts 1 NaN and 0 Inf into tensor x"):
            calibrate(network(), spoiled(30), ["x"], executor=executor, non_finite="error")


def test_a_tensor_without_a_finite_value_is_an_error() -> None:
    feeds = [{"x": np.full((2, 4), np.nan, np.float32)}]
    with pytest.raises(CalibrationError, match="tensor x has not a single finite value in 1 samples"):
        calibrate(network(), feeds, ["x"])


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
                calibrate(network(), source(40), TENSORS, checkpoint=path, checkpoint_every=10, on_sample=stop)
            assert Calibration.load(path).samples == 20
            seen: list[int] = []
            made = calibrate(
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
        calibrate(network(), interrupted(), TENSORS, checkpoint=path, checkpoint_every=10, executor=executor)
    kept = Calibration.load(path).samples if path.exists() else 0
    assert kept in ((20,) if executor is None else (0, 10, 20))  # parts in flight are given up
    assert [each.name for each in tmp_path.iterdir()] in (["c"], [])
    made = calibrate(network(), Ranged(40), TENSORS, checkpoint=path, checkpoint_every=10, executor=executor)
    assert content(made) == expected(40)
    assert list(tmp_path.iterdir()) == []


CALIBRATES_SLOWLY = """
import signal, sys, time, numpy as np, onnx
from ort_vitis_plugin.calibration import calibrate

def feeds():
    for index in range(1000):
        time.sleep(0.02)
        yield {"x": np.full((2, 4), index, np.float32)}

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
calibrate(onnx.load(sys.argv[1]), feeds(), ["x", "h"], checkpoint=sys.argv[2], checkpoint_every=5)
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
    calibrate(network(), Ranged(2), TENSORS).save(tmp_path / "c")
    other = network()
    other.graph.node[1].op_type = "Tanh"
    with pytest.raises(CalibrationError, match="another model"):
        calibrate(other, Ranged(4), TENSORS, checkpoint=tmp_path / "c")
    with pytest.raises(CalibrationError, match="holds 2 samples, but the reader has only 1"):
        calibrate(network(), Reader(1), TENSORS, checkpoint=tmp_path / "c")


def test_saved_and_loaded(tmp_path: Path) -> None:
    made = calibrate(network(), spoiled(8), TENSORS)
    made.save(tmp_path / "c.npz")
    back = Calibration.load(tmp_path / "c.npz", network(), TENSORS)
    assert content(back) == content(made)
    assert back.fingerprint == made.fingerprint
    assert os.listdir(tmp_path) == ["c.npz"]


def test_files_that_do_not_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    with pytest.raises(CalibrationError, match="there is no calibration file"):
        Calibration.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(CalibrationError, match="is not a calibration file"):
        Calibration.load(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(CalibrationError, match="is not a calibration file"):
        Calibration.load(path)
    made = calibrate(network(), Ranged(2), ["x"])
    made.save(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(CalibrationError, match="is not a calibration file"):
        Calibration.load(path)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_VERSION", 7)
        made.save(path)
    with pytest.raises(CalibrationError, match="version 7"):
        Calibration.load(path)
    made.save(path)
    with pytest.raises(CalibrationError, match="has no tensor h"):
        Calibration.load(path, network(), ["x", "h"])
    other = network()
    other.graph.initializer[0].float_data[0] = 5
    with pytest.raises(CalibrationError, match="made for another model"):
        Calibration.load(path, other)


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    made = calibrate(network(), Ranged(2), ["x"])
    made.save(path)
    before = path.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="disk full"):
        made.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c.npz"]


def test_merge() -> None:
    feeds = spoiled(10)
    first, second = calibrate(network(), feeds[:6], ["x", "h"]), calibrate(network(), feeds[6:], ["x", "h"])
    first.merge(second)
    assert content(first) == content(calibrate(network(), feeds, ["x", "h"]))
    with pytest.raises(CalibrationError, match="only one of the calibrations has h"):
        first.merge(calibrate(network(), feeds, ["x"]))
    other = network()
    other.graph.node[1].op_type = "Tanh"
    with pytest.raises(CalibrationError, match="different models"):
        first.merge(calibrate(other, feeds, ["x", "h"]))


def test_the_fingerprint_is_that_of_what_is_computed(tmp_path: Path) -> None:
    model = network()
    mark = fingerprint(model)
    model.doc_string, model.producer_name = "words", "someone"
    model.graph.value_info.clear()
    assert fingerprint(model) == mark
    for tensor in model.graph.initializer:
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    assert fingerprint(model) == mark
    onnx.save(model, str(tmp_path / "a.onnx"))
    onnx.save(model, str(tmp_path / "b.onnx"), save_as_external_data=True, size_threshold=0)
    assert fingerprint(tmp_path / "a.onnx") == fingerprint(tmp_path / "b.onnx") == mark


def test_the_reader_is_left_as_it_was() -> None:
    reader = Ranged(20)
    with ThreadPoolExecutor(2) as executor:
        calibrate(network(), reader, TENSORS, executor=executor)
    assert (reader.at, reader.end) == (0, 20)


def test_a_model_with_external_data_goes_by_its_path(tmp_path: Path) -> None:
    model = network()
    for tensor in model.graph.initializer:
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    onnx.save(model, str(tmp_path / "m.onnx"), save_as_external_data=True, size_threshold=0)
    with ThreadPoolExecutor(2) as executor:
        assert content(calibrate(tmp_path / "m.onnx", Ranged(20), TENSORS, executor=executor)) == expected(20)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_that_loses_a_worker() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert content(calibrate(network(), Ranged(40), TENSORS, executor=client)) == expected(40)
        assert content(calibrate(network(), Reader(40), TENSORS, executor=client)) == expected(40)
        pids = list(client.run(os.getpid).values())

        def kill(sample: Sample) -> None:
            if pids and sample.index >= 4:
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()

        made = calibrate(network(), Ranged(80, pause=0.05), TENSORS, executor=client, on_sample=kill)
        assert not pids
        assert content(made) == expected(80)
