"""Calibration runs in this process or in workers, goes on from a checkpoint, and gives the same bits either way."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CalibrationError, UnsupportedError
from .batches import Batch, batches_of
from .calibration import Calibration
from .fingerprint import fingerprint
from .observe import Observer
from .workers import Job, counted, in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from onnx import ModelProto

    from .channel_squares import Channels
    from .observe import Configure, Observation, Sample
    from .workers import Executor

log = logging.getLogger(__name__)


def calibration_of(
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
    channels: Sequence[Channels] = (),
) -> Calibration:
    """Sketches of the named tensors over all samples of a reader, the same to the bit however the work is split.

    ``reader`` is a calibration data reader (``get_next``) or an iterable of feeds. With an ``executor`` the samples
    are split among its workers, each with a session of its own; a reader with ``__len__`` and ``set_range`` or
    ``__getitem__`` is read there, any other here. Parts of a lost worker run again.

    ``on_sample`` is called after every sample, in order; with ``apart`` it gets sketches of that sample alone.
    ``non_finite="error"`` makes the first NaN or Inf an error. ``checkpoint`` names a file that is written after
    every ``checkpoint_every`` samples, taken up by the next call if it is there, and removed at the end. ``channels``
    asks for the mean squares of channels, too.

    Raises:
        CalibrationError: there is no sample, a tensor has no finite value, or one that is not finite is to be an error.
        UnsupportedError: the executor is none.
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

    job = Job(names, list(providers), configure, apart, tuple(channels))
    parts = batches_of(reader, total.samples, checkpoint_every if saved else None, here=executor is None)
    results = _here(model, job, parts, done) if executor is None else in_workers(model, job, parts, executor, done)
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
    for channels, squares in part.energies.items():
        if channels in total.energies:
            total.energies[channels].merge(squares)
        else:
            total.energies[channels] = squares
    total.samples += part.samples
    total.non_finite += part.non_finite


def _here(
    model: ModelProto | str | Path, job: Job, parts: Iterable[Batch], done: Callable[[Sample], None]
) -> Iterator[Observation]:
    observer = Observer(model, job.tensors, providers=job.providers, configure=job.configure, channels=job.channels)
    for part in parts:
        yield counted(observer, job, part, done)
