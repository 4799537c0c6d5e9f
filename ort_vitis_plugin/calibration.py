"""A calibration is the sketches of a model's tensors: made once, on one machine or many, and asked by any method."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
import logging
import os
import pickle
import tempfile
import threading
import uuid
import zipfile
from collections import deque
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import onnx
from onnx import ModelProto, TensorProto
from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

from .data_readers import between, is_ranged
from .errors import CalibrationError, UnsupportedError
from .observe import NonFinite, Observation, Observer, Sample
from .sketch import Sketch
from .weights import array_of, filled, is_aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import onnxruntime as ort

    from .observe import Configure, Feed

log = logging.getLogger(__name__)

_VERSION = 1
_IN_FLIGHT = 16  # parts that wait or run at a time; bounds the samples in memory
_ATTEMPTS = 3


@dataclass
class Calibration:
    """Sketches by tensor, the model they belong to, and what was not finite in which sample."""

    sketches: dict[str, Sketch]
    fingerprint: str
    samples: int = 0
    non_finite: list[NonFinite] = field(default_factory=list)

    def merge(self, other: Calibration) -> None:
        """Take in a calibration of the same model and tensors with other samples, numbered on from ours."""
        if other.fingerprint != self.fingerprint:
            raise CalibrationError("these calibrations belong to different models and cannot be merged")
        if set(other.sketches) != set(self.sketches):
            names = sorted(set(other.sketches) ^ set(self.sketches))
            raise CalibrationError(f"only one of the calibrations has {', '.join(names[:5])}")
        self.non_finite += [
            NonFinite(each.tensor, each.sample + self.samples, each.nans, each.infinities) for each in other.non_finite
        ]
        self.samples += other.samples
        for name, sketch in other.sketches.items():
            self.sketches[name].merge(sketch)

    def check(self, model: ModelProto | str | Path, tensors: Iterable[str] = ()) -> None:
        """Raise unless this is a calibration of that model and has all those tensors."""
        if fingerprint(model) != self.fingerprint:
            raise CalibrationError("the calibration was made for another model; calibrate this one")
        if missing := [name for name in tensors if name not in self.sketches]:
            raise CalibrationError(f"the calibration has no tensor {', '.join(missing[:5])}; calibrate again")

    def save(self, path: str | Path) -> None:
        """One file, whole or not at all."""
        head = {
            "version": _VERSION,
            "fingerprint": self.fingerprint,
            "samples": self.samples,
            "non_finite": [asdict(each) for each in self.non_finite],
            "tensors": list(self.sketches),
        }
        arrays = {f"sketch_{at}": _bytes(sketch.to_bytes()) for at, sketch in enumerate(self.sketches.values())}
        target = Path(path)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, head=_bytes(json.dumps(head).encode()), **arrays)  # type: ignore[arg-type]
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise

    @classmethod
    def load(
        cls, path: str | Path, model: ModelProto | str | Path | None = None, tensors: Iterable[str] = ()
    ) -> Calibration:
        """What ``save`` wrote; with a model, raise if it belongs to another one or lacks tensors."""
        try:
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
                head = json.loads(file["head"].tobytes())
                if head["version"] != _VERSION:
                    raise CalibrationError(
                        f"{path} is a calibration of version {head['version']}; this release reads version {_VERSION}"
                    )
                sketches = {
                    name: Sketch.from_bytes(file[f"sketch_{at}"].tobytes()) for at, name in enumerate(head["tensors"])
                }
        except FileNotFoundError as error:
            raise CalibrationError(f"there is no calibration file {path}") from error
        except (zipfile.BadZipFile, KeyError, EOFError, ValueError) as error:
            if isinstance(error, CalibrationError):
                raise
            raise CalibrationError(f"{path} is not a calibration file") from error
        non_finite = [NonFinite(**each) for each in head["non_finite"]]
        calibration = cls(sketches, head["fingerprint"], head["samples"], non_finite)
        if model is not None:
            try:
                calibration.check(model, tensors)
            except CalibrationError as error:
                raise CalibrationError(f"{path}: {error}, or name another file") from None
        return calibration


def _bytes(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)


def fingerprint(model: ModelProto | str | Path) -> str:
    """A digest of nodes, weights, inputs, outputs and opsets; the same for a path and its proto."""
    folder = None
    if not isinstance(model, ModelProto):
        folder = str(Path(model).resolve().parent)
        model = onnx.load(str(model), load_external_data=False)
    digest = hashlib.sha256()
    graph = model.graph
    for message in (*model.opset_import, *graph.input, *graph.output, *graph.node, *model.functions):
        digest.update(message.SerializeToString(deterministic=True))
    for tensor in graph.initializer:
        digest.update(f"{tensor.name} {tensor.data_type} {list(tensor.dims)} ".encode())
        if uses_external_data(tensor) and not is_aside(tensor):
            if folder is None:
                digest.update(str(tensor.external_data).encode())
                continue
            loaded = TensorProto()
            loaded.CopyFrom(tensor)
            load_external_data_for_tensor(loaded, folder)
            tensor = loaded
        if tensor.data_type == TensorProto.STRING:
            digest.update(repr(list(tensor.string_data)).encode())
        else:
            digest.update(array_of(tensor).tobytes())
    return digest.hexdigest()


class Executor(Protocol):
    """What ``calibrate`` needs of an engine: concurrent.futures executors and Dask clients have it."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Run ``function(*arguments)`` somewhere; the answer has ``result()``."""


def calibrate(
    model: ModelProto | str | Path,
    reader: Any,
    tensors: Iterable[str],
    *,
    providers: Sequence[Any] = ("CPUExecutionProvider",),
    configure: Configure | None = None,
    executor: Executor | None = None,
    on_sample: Callable[[Sample], None] | None = None,
    apart: bool = False,
    non_finite: str = "report",
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 16,
) -> Calibration:
    """Sketches of the named tensors over all samples of a reader, the same to the bit however the work is split.

    ``reader`` is a calibration data reader (``get_next``) or an iterable of feeds. With an ``executor`` the samples
    are split among its workers, each with a session of its own; a reader with ``__len__`` and ``set_range`` or
    ``__getitem__`` is read there, any other here. Parts of a lost worker run again.

    ``on_sample`` is called after every sample, in order; with ``apart`` it gets sketches of that sample alone.
    ``non_finite="error"`` makes the first NaN or Inf an error. ``checkpoint`` names a file that is written after
    every ``checkpoint_every`` samples, taken up by the next call if it is there, and removed at the end.
    """
    if non_finite not in ("report", "error"):
        raise CalibrationError(f"non_finite is {non_finite!r}; it is 'report' or 'error'")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise UnsupportedError(
            f"{type(executor).__name__} is no executor: it has no submit(function, *arguments); "
            "concurrent.futures executors and dask.distributed.Client have"
        )
    names = list(dict.fromkeys(tensors))
    saved = Path(checkpoint) if checkpoint else None
    total = Calibration({}, fingerprint(model))
    if saved and saved.exists():
        total = Calibration.load(saved, model)
        log.info("Going on after %d samples from %s", total.samples, saved)

    def done(sample: Sample) -> None:
        if non_finite == "error" and sample.non_finite:
            first = sample.non_finite[0]
            raise CalibrationError(
                f"sample {first.sample} puts {first.nans} NaN and {first.infinities} Inf into tensor {first.tensor}"
            )
        if on_sample:
            on_sample(sample)

    job = _Job(names, list(providers), configure, apart)
    parts = _parts(reader, total.samples, checkpoint_every if saved else None, here=executor is None)
    results = _here(model, job, parts, done) if executor is None else _there(model, job, parts, executor, done)
    for part in results:
        _take_in(total, part)
        if saved:
            total.save(saved)
    if not total.samples:
        raise CalibrationError("the calibration data reader gave no sample; rewind it, or give it data")
    for name, sketch in total.sketches.items():
        if sketch.count == 0 and (sketch.nan_count or sketch.inf_count):
            raise CalibrationError(f"tensor {name} has not a single finite value in {total.samples} samples")
    if saved:
        saved.unlink(missing_ok=True)
    return total


def _take_in(total: Calibration, part: Observation) -> None:
    for name, sketch in part.items():
        if name in total.sketches:
            total.sketches[name].merge(sketch)
        else:
            total.sketches[name] = sketch
    total.samples += part.samples
    total.non_finite += part.non_finite


def feeds_of(reader: Any) -> Iterator[Feed]:
    """The samples of a data reader, of an iterable, or of a data set that has only a length and an index."""
    if hasattr(reader, "get_next"):
        while (feed := reader.get_next()) is not None:
            yield feed
    elif not hasattr(reader, "__iter__"):
        yield from (reader[at] for at in range(len(reader)))
    else:
        yield from reader


@dataclass(frozen=True)
class _Job:
    """What every worker must know besides the model."""

    tensors: list[str]
    providers: list[Any]
    configure: Configure | None
    apart: bool


@dataclass(frozen=True)
class _Part:
    """Samples ``first`` and following: feeds, or a reader that gives samples first to stop where the work is done."""

    first: int
    stop: int | None
    source: Any
    constants: bool

    def feeds(self) -> Iterable[Feed]:
        if self.stop is None:
            return feeds_of(self.source)
        return feeds_of(between(self.source, self.first, self.stop))


def _parts(reader: Any, skip: int, size: int | None, *, here: bool) -> Iterator[_Part]:
    """The samples from number ``skip`` on, cut into parts; in one process without checkpoints there is one part."""
    count = len(reader) if not here and is_ranged(reader) and _travels(reader) else None
    if count is not None:
        step = size or min(max(count // _IN_FLIGHT, 1), 16)
        for first in range(skip, count, step):
            yield _Part(first, min(first + step, count), reader, first == 0)
        return
    samples = feeds_of(reader)
    for number in range(skip):
        if next(samples, None) is None:
            raise CalibrationError(f"the checkpoint holds {skip} samples, but the reader has only {number}")
    if here and size is None:
        yield _Part(skip, None, samples, skip == 0)
        return
    first = skip
    while True:
        feeds, error = _read(samples, size or 8)
        if feeds or (error is None and first == 0):
            yield _Part(first, None, feeds, first == 0)
        first += len(feeds)
        if error:
            raise CalibrationError(f"the calibration data reader failed at sample {first}: {error}") from error
        if len(feeds) < (size or 8):
            return


def _travels(reader: Any) -> bool:
    """Whether a reader can be sent to another process; one with open files or of a local class is read here."""
    try:
        pickle.dumps(reader)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _read(samples: Iterator[Feed], count: int) -> tuple[list[Feed], Exception | None]:
    """Up to ``count`` samples, and what the reader raised behind the last one."""
    feeds: list[Feed] = []
    try:
        for feed in samples:
            feeds.append(dict(feed))
            if len(feeds) == count:
                break
    except Exception as error:  # told with the number of the sample, after the samples before it are counted
        return feeds, error
    return feeds, None


def _here(
    model: ModelProto | str | Path, job: _Job, parts: Iterable[_Part], done: Callable[[Sample], None]
) -> Iterator[Observation]:
    observer = Observer(model, job.tensors, providers=job.providers, configure=job.configure)
    for part in parts:
        seen = observer.run(part.feeds(), first=part.first, on_sample=done, apart=job.apart)
        if part.constants:
            seen.update(observer.constants())
        yield seen


def _there(
    model: ModelProto | str | Path,
    job: _Job,
    parts: Iterable[_Part],
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
    waiting: deque[tuple[_Part, Any]] = deque()

    def submit(part: _Part) -> Any:
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
            if len(waiting) == _IN_FLIGHT:
                yield oldest()
        while waiting:
            yield oldest()
    finally:
        for _, future in waiting:
            if not isinstance(future, BrokenExecutor):
                future.cancel()


Work = tuple[Observation, list[Sample]]


def _result(part: _Part, future: Any, submit: Callable[[_Part], Any], here: Callable[[], Work]) -> Work:
    """The result of a part, which runs again if its worker was lost, at last in this process."""
    for _ in range(_ATTEMPTS):
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
    names = {each.__name__ for each in type(error).__mro__}
    return isinstance(error, (BrokenExecutor, CancelledError, ConnectionError)) or bool(
        names & {"KilledWorker", "CommClosedError"}  # of dask.distributed, which need not be installed
    )


def _mark(model: str, job: _Job) -> str:
    """Names a session: by what it is made of, else by this call alone. What arrives in a worker is always a copy."""
    try:
        return f"{model} {hashlib.sha256(pickle.dumps(job)).hexdigest()}"
    except (pickle.PicklingError, AttributeError, TypeError):
        return f"{model} {uuid.uuid4()}"


def _shippable(model: ModelProto | str | Path) -> bytes | str:
    """The model as bytes; one whose weights lie in other files goes by its path, which the workers must see."""
    if isinstance(model, ModelProto):
        try:
            return bytes(filled(model).SerializeToString())
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


def _work(model: bytes | str, key: str, job: _Job, part: _Part) -> Work:
    """One part in a worker; its thread keeps the session for the next part."""
    if getattr(_own, "key", None) != key:
        proto = onnx.load_model_from_string(model) if isinstance(model, bytes) else model
        _own.observer = Observer(proto, job.tensors, providers=job.providers, configure=_patient(job.configure))
        _own.key = key
    observer: Observer = _own.observer
    samples: list[Sample] = []
    seen = observer.run(part.feeds(), first=part.first, on_sample=samples.append, apart=job.apart)
    if part.constants:
        seen.update(observer.constants())
    return seen, samples
