"""The same bits from any engine, also when it loses workers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import pickle
import signal
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin.calibration import calibration_of, workers
from ort_vitis_plugin.calibration.observe import Sample, observe
from ort_vitis_plugin.errors import UnsupportedError
from tests.ort_vitis_plugin.calibration.sources import (
    SOURCES,
    TENSORS,
    Indexed,
    Ranged,
    Reader,
    content,
    expected,
    feed,
    network,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("count", [1, 40, 300])
def test_threads_give_the_same_bits(source: str, count: int) -> None:
    with ThreadPoolExecutor(3) as executor:
        assert content(calibration_of(network(), SOURCES[source](count), TENSORS, executor=executor)) == expected(count)


def test_processes_give_the_same_bits(tmp_path: Path) -> None:
    onnx.save(network(), str(tmp_path / "model.onnx"))
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        for source in ("ranged", "generator"):
            made = calibration_of(tmp_path / "model.onnx", SOURCES[source](20), TENSORS, executor=executor)
            assert content(made) == expected(20)


def test_samples_come_in_order_and_apart() -> None:
    told: list[Sample] = []
    with ThreadPoolExecutor(3) as executor:
        calibration_of(network(), Ranged(40), TENSORS, executor=executor, on_sample=told.append, apart=True)
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
    assert content(calibration_of(network(), Ranged(40), TENSORS, executor=executor)) == expected(40)
    assert executor.submitted > 16


def test_a_pool_without_workers_ends_in_this_process() -> None:
    executor = Dying(lambda number: number > 3, BrokenProcessPool("dead"))
    assert content(calibration_of(network(), Ranged(40), TENSORS, executor=executor)) == expected(40)


def test_a_process_that_is_killed_costs_no_sample() -> None:
    pids: list[int] = []
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        pids.append(executor.submit(os.getpid).result())

        def kill(sample: Sample) -> None:
            if pids:
                os.kill(pids.pop(), signal.SIGKILL)

        made = calibration_of(network(), Ranged(40, pause=0.01), TENSORS, executor=executor, on_sample=kill)
    assert content(made) == expected(40)


def test_an_error_of_the_work_is_not_taken_for_a_lost_worker() -> None:
    class Failing(Ranged):
        def get_next(self) -> dict[str, np.ndarray] | None:  # type: ignore[override]
            if self.at == 21:
                raise OSError("disk gone")
            return super().get_next()

    for executor in (None, ThreadPoolExecutor(2)):
        with pytest.raises(OSError, match="disk gone") as caught:
            calibration_of(network(), Failing(40), TENSORS, executor=executor)
        assert caught.value.__notes__ == ["raised by the calibration data reader at sample 21"]


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


def test_at_the_door_samples_are_read_by_the_workers(tmp_path: Path) -> None:
    """Where they can be read from the middle: so a slow reader gains from more workers, too."""
    alone = content(ort_vitis_plugin.calibrate(network(), Reader(40)))
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        for source in (Marking, MarkingReader):
            folder = tmp_path / source.__name__
            folder.mkdir()
            made = ort_vitis_plugin.calibrate(network(), source(40, folder), executor=executor)
            readers = {each.name for each in folder.iterdir()}
            assert readers, source
            assert str(os.getpid()) not in readers, source
            assert content(made) == alone, source
            assert made.samples == 40


def test_a_worker_makes_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many parts it gets, each with a copy of the job."""
    made: list[int] = []

    class Counted(workers.Observer):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            made.append(1)
            super().__init__(*arguments, **named)

    class Copying(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Any:
            return super().submit(function, *pickle.loads(pickle.dumps(arguments)))

    monkeypatch.setattr(workers, "Observer", Counted)
    with Copying(1) as executor:
        assert content(
            calibration_of(network(), Ranged(40), TENSORS, executor=executor, configure=partial(_nothing, 1))
        )
        assert len(made) == 1
        assert content(
            calibration_of(network(), Ranged(40), TENSORS, executor=executor, configure=partial(_nothing, 2))
        )
        assert len(made) == 2


def _nothing(_: int, options: Any) -> None:
    assert options is not None


def test_a_reader_that_cannot_travel_is_read_here() -> None:
    class Local(Ranged):
        pass

    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        assert content(calibration_of(network(), Local(20), TENSORS, executor=executor)) == expected(20)


def test_what_is_no_executor_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"str is no executor.*submit"):
        calibration_of(network(), Ranged(1), TENSORS, executor="dask")  # type: ignore[arg-type]


def test_the_reader_is_left_as_it_was() -> None:
    reader = Ranged(20)
    with ThreadPoolExecutor(2) as executor:
        calibration_of(network(), reader, TENSORS, executor=executor)
    assert (reader.at, reader.end) == (0, 20)


def test_a_model_with_external_data_goes_by_its_path(tmp_path: Path) -> None:
    model = network()
    for tensor in model.graph.initializer:
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    onnx.save(model, str(tmp_path / "m.onnx"), save_as_external_data=True, size_threshold=0)
    with ThreadPoolExecutor(2) as executor:
        assert content(calibration_of(tmp_path / "m.onnx", Ranged(20), TENSORS, executor=executor)) == expected(20)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_that_loses_a_worker() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert content(calibration_of(network(), Ranged(40), TENSORS, executor=client)) == expected(40)
        assert content(calibration_of(network(), Reader(40), TENSORS, executor=client)) == expected(40)
        pids = list(client.run(os.getpid).values())

        def kill(sample: Sample) -> None:
            if pids and sample.index >= 4:
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()

        made = calibration_of(network(), Ranged(80, pause=0.05), TENSORS, executor=client, on_sample=kill)
        assert not pids
        assert content(made) == expected(80)


def test_an_executor_may_hand_out_the_model_and_another_executor() -> None:
    """As a client of Dask does."""

    class Client(ThreadPoolExecutor):
        scattered = 0

        def scatter(self, data: object, *, broadcast: bool) -> object:
            Client.scattered += broadcast
            return data

        def get_executor(self, *, pure: bool) -> Client:
            assert not pure
            return self

    with Client(2) as executor:
        assert content(calibration_of(network(), Reader(40), TENSORS, executor=executor)) == expected(40)
    assert Client.scattered == 1


def test_what_the_callers_code_raises_in_a_worker_is_not_tried_again() -> None:
    class Fails(Reader):
        def get_next(self) -> Any:
            raise ConnectionError("mine")

    with ThreadPoolExecutor(2) as executor, pytest.raises(ConnectionError, match="mine"):
        calibration_of(network(), Fails(4), TENSORS, executor=executor)
