"""Parts go to the workers of any engine; what a lost one had runs again, and the results come in order."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import logging
import pickle
import threading
import uuid
from collections import deque
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import onnx
from onnx import ModelProto
from onnx.external_data_helper import uses_external_data

from ..errors import CalibrationError
from ..foreign import is_of_caller
from ..onnx_io.external_weights import internalized
from .batches import IN_FLIGHT, Batch
from .fingerprint import fingerprint
from .observe import Observation, Observer, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import onnxruntime as ort

    from .channel_squares import Channels
    from .observe import Configure

log = logging.getLogger(__name__)

ATTEMPTS = 3


class Executor(Protocol):
    """What ``calibrate`` needs of an engine: concurrent.futures executors and Dask clients have it."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Run ``function(*arguments)`` somewhere; the answer has ``result()``."""


@dataclass(frozen=True)
class Job:
    """What every worker must know besides the model."""

    tensors: list[str]
    providers: list[Any]
    configure: Configure | None
    apart: bool
    channels: tuple[Channels, ...] = ()


def counted(observer: Observer, job: Job, part: Batch, on_sample: Callable[[Sample], None]) -> Observation:
    """What is seen in one part of the samples; in the first one the constants are seen, too."""
    seen = observer.run(part.feeds(), first=part.first, on_sample=on_sample, apart=job.apart)
    if part.constants:
        seen.update(observer.constants())
    return seen


def in_workers(
    model: ModelProto | str | Path,
    job: Job,
    parts: Iterable[Batch],
    executor: Executor,
    done: Callable[[Sample], None],
) -> Iterator[Observation]:
    """Results in the order of the parts."""
    key = _mark(fingerprint(model), job)
    shipped: Any = _shippable(model)
    if hasattr(executor, "scatter"):
        shipped = executor.scatter(shipped, broadcast=True)
    if hasattr(executor, "get_executor"):  # of a Dask client; pure work would not run a second time
        executor = executor.get_executor(pure=False)
    waiting: deque[tuple[Batch, Any]] = deque()

    def submit(part: Batch) -> Any:
        try:
            return executor.submit(_work, shipped, key, job, part)
        except BrokenExecutor as error:
            return error

    def oldest() -> Observation:
        part, future = waiting.popleft()
        seen, samples = _result(part, future, submit, lambda: _work(_shippable(model), key, job, part))
        for sample in samples:
            done(sample)
        return seen

    try:
        for part in parts:
            waiting.append((part, submit(part)))
            if len(waiting) == IN_FLIGHT:
                yield oldest()
        while waiting:
            yield oldest()
    finally:
        for _, future in waiting:
            if not isinstance(future, BrokenExecutor):
                future.cancel()


Work = tuple[Observation, list[Sample]]


def _result(part: Batch, future: Any, submit: Callable[[Batch], Any], here: Callable[[], Work]) -> Work:
    """The result of a part, which runs again if its worker was lost, at last in this process."""
    for _ in range(ATTEMPTS):
        try:
            if isinstance(future, BrokenExecutor):
                break
            work: Work = future.result()
            return work
        except Exception as error:
            if not _lost(error):
                raise
            log.warning("A worker was lost; samples from %d on run again (%s)", part.first, type(error).__name__)
            future = submit(part)
    log.warning("No worker is left for the samples from %d on; they run in this process", part.first)
    return here()


def _lost(error: BaseException) -> bool:
    """Whether the worker failed, not the work."""
    if is_of_caller(error):
        return False
    names = {each.__name__ for each in type(error).__mro__}
    return isinstance(error, (BrokenExecutor, CancelledError, ConnectionError)) or bool(
        names & {"KilledWorker", "CommClosedError"}  # of dask.distributed, which need not be installed
    )


def _mark(model: str, job: Job) -> str:
    """Names a session: by what it is made of, else by this call alone. What arrives in a worker is always a copy."""
    try:
        return f"{model} {hashlib.sha256(pickle.dumps(job)).hexdigest()}"
    except (pickle.PicklingError, AttributeError, TypeError):
        return f"{model} {uuid.uuid4()}"


def _shippable(model: ModelProto | str | Path) -> bytes | str:
    """The model as bytes; one whose weights lie in other files goes by its path, which the workers must see."""
    if isinstance(model, ModelProto):
        try:
            return bytes(internalized(model).SerializeToString())
        except ValueError as error:
            raise CalibrationError("a model over 2 GB cannot be sent to workers; save it and give the path") from error
    path = Path(model).resolve()
    if any(uses_external_data(tensor) for tensor in onnx.load(str(path), load_external_data=False).graph.initializer):
        return str(path)
    return path.read_bytes()


def _patient(configure: Configure | None) -> Configure:
    """``configure``, and threads that sleep while they wait: spinning ones would take the cores of other workers."""

    def both(options: ort.SessionOptions) -> None:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if configure:
            configure(options)

    return both


_own = threading.local()


def _work(model: bytes | str, key: str, job: Job, part: Batch) -> Work:
    """One part in a worker; its thread keeps the session for the next part."""
    if getattr(_own, "key", None) != key:
        proto = onnx.load_model_from_string(model) if isinstance(model, bytes) else model
        _own.observer = Observer(
            proto, job.tensors, providers=job.providers, configure=_patient(job.configure), channels=job.channels
        )
        _own.key = key
    observer: Observer = _own.observer
    samples: list[Sample] = []
    return counted(observer, job, part, samples.append), samples
