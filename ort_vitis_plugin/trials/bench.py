"""One calibration per prepared model serves all trials; what chooses ranges and what judges are different samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import time
import warnings
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ..calibration.fingerprint import fingerprint
from ..data_readers import CalibrationData, RandomDataReader, Samples
from ..data_readers.spread import picked, spread
from ..entry.quantize_static import calibrate, prepared, quantize_static, settings_for, simulated
from ..errors import CalibrationError, QuantizationError, UnsupportedError
from ..measure.evaluation import TOP1
from ..measure.judge import Judge
from ..onnx_io.load import load_model
from ..onnx_io.sessions import register_all
from ..pipeline.canonical_form import canonical_form
from ..plugin.declarations import Stage
from ..request.change import OPTIONS, changed_keywords
from .scores import score_of
from .trial import Trial, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray
    from onnx import ModelProto

    from ..calibration import Calibration
    from ..data_readers import Feed
    from ..report.report import Report, Result
    from .scores import Metric
    from .trial import Configuration

MOST_SAMPLES = 256  # that trials read; the final call reads all
MOST_JUDGES = 16  # samples of which decibels are told
TRYING = {OPTIONS: {"SelfCheck": False}}
REMEMBERED = 3  # results and prepared models: the best, the last, and one between them


class Split(NamedTuple):
    """Samples that choose ranges, and samples that judge; ``labels`` are of these, ``other_labels`` of those."""

    choosing: list[Feed]
    judging: list[Feed]
    labels: list[NDArray[Any] | None]
    is_held_out: bool
    other_labels: list[NDArray[Any] | None]

    def exchanged(self) -> Split:
        """Who judged chooses, and who chose judges."""
        return Split(self.judging, self.choosing, self.other_labels, self.is_held_out, self.labels)

    @property
    def share(self) -> float:
        """Of the samples that were read, those that choose."""
        return len(self.choosing) / len(self.all())

    def all(self) -> list[Feed]:
        """All samples, in the order in which they were."""
        if not self.is_held_out:
            return self.choosing
        found: list[Feed] = [*self.choosing, *self.judging]
        found[::2], found[1::2] = self.choosing, self.judging
        return found


def split_of(data: Any, model: ModelProto) -> Split:
    """Every second sample judges; one alone does both.

    Raises:
        CalibrationError: there is no sample.
    """
    labels: list[NDArray[Any] | None]
    if isinstance(data, CalibrationData):
        pairs = list(islice(data.bound_to(model).labelled(), MOST_SAMPLES))
        feeds, labels = [feed for feed, _ in pairs], [label for _, label in pairs]
    else:
        samples = Samples(RandomDataReader(model) if data is None else data, model)
        samples.rewind()
        feeds = list(islice(samples, MOST_SAMPLES))
        labels = [None] * len(feeds)
    if not feeds:
        raise CalibrationError("there is no sample to choose and judge by")
    if len(feeds) == 1:
        return Split(feeds, feeds, labels, False, labels)
    return Split(feeds[::2], feeds[1::2], labels[1::2], True, labels[::2])


class Bench:
    """Tries configurations of one float model on the same samples."""

    def __init__(
        self, model: ModelProto | str | Path, split: Split, metric: Metric, libraries: Iterable[str] = ()
    ) -> None:
        self.model, self.split = load_model(model), split
        self._metric, self._libraries = metric, tuple(libraries)
        self._other: Bench | None = None
        feeds = split.judging
        if metric != TOP1:
            feeds = picked(feeds, spread(len(feeds), MOST_JUDGES))
        self.judge = Judge(canonical_form(self.model), feeds, [register_all(self._libraries)])
        self._score = score_of(metric, self.judge, split.labels)
        self._calibrations: dict[str, Calibration] = {}
        self._reports: dict[str, Report] = {}
        self._results: dict[str, Result] = {}
        self._references: dict[str, ModelProto] = {}

    def quantized(self, configuration: Configuration) -> Result:
        """What the configuration gives with ranges of the choosing samples; the last few are remembered.

        Raises:
            QuantizationError: the configuration is refused, or fails.
        """
        key = key_of(configuration)
        found = self._results.pop(key, None)
        if found is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = quantize_static(
                    self.model,
                    None,
                    self.split.choosing,
                    calibration=self._calibration(configuration),
                    **changed_keywords(configuration, TRYING),
                )
            self._reports[key] = found.report
        self._results[key] = found
        while len(self._results) > REMEMBERED:
            del self._results[next(iter(self._results))]
        return found

    def report(self, configuration: Configuration) -> Report:
        """The report of what the configuration gives; of all trials it is remembered."""
        found = self._reports.get(key_of(configuration))
        return found if found is not None else self.quantized(configuration).report

    def tried(self, what: str, configuration: Configuration, first: Trial | None = None) -> Trial:
        """The row of a trial; one that is refused, or whose metric fails, is a row with its reason."""
        start = time.perf_counter()
        try:
            result, score = self._scored(configuration)
        except QuantizationError as error:
            seconds = time.perf_counter() - start
            return Trial(what, configuration, seconds=seconds, failure=" ".join(str(error).split()))
        gain = None if first is None or first.score is None else score - first.score
        return Trial(
            what,
            configuration,
            score,
            gain,
            self._on_device(result, configuration, configuration if first is None else first.configuration),
            result.report.quantized_bytes,
            time.perf_counter() - start,
        )

    @property
    def can_exchange(self) -> bool:
        """Whether exchanged halves say anything new: a metric of the caller's has samples of its own."""
        return self.split.is_held_out and isinstance(self._metric, str)

    def exchanged(self, configuration: Configuration) -> float | None:
        """The score where the halves of the samples are exchanged; None where that fails."""
        if self._other is None:
            self._other = Bench(self.model, self.split.exchanged(), self._metric, self._libraries)
        try:
            return self._other._scored(configuration)[1]
        except QuantizationError:
            return None

    def _scored(self, configuration: Configuration) -> tuple[Result, float]:
        result = self.quantized(configuration)
        if not result.report.quantized and not result.report.types:
            raise UnsupportedError("nothing of the model would be quantized")
        shifts = "PowerOfTwo" in result.report.configuration.get("method", "")
        return result, self._score(result.model, self.judge.session(result.model, twin=shifts))

    def on_device(self, configuration: Configuration) -> dict[str, str]:
        """Quantized nodes that the device takes, with their op types."""
        report = self.report(configuration)
        return {name: op_type for name, op_type in report.quantized.items() if name not in report.placement}

    def switched_off(self, configuration: Configuration, first: Configuration) -> int:
        """How many nodes that the first configuration simulates this one computes otherwise than the device does."""
        settings, simulated = settings_for(**configuration), self.report(first).transforms
        off = 0
        for step in settings.catalog.steps(Stage.SIMULATE, settings.lineage):
            switched = step.option is None or settings.switched_on(step.option)
            off += 0 if settings.enabled(step) and switched else simulated.get(step.key, 0)
        return off

    def _on_device(self, result: Result, configuration: Configuration, first: Configuration) -> int:
        """Their number. What a step simulated in the first trial, and the file no longer says, does not count: the
        device computes it otherwise."""
        taken = result.report.quantized.keys() - result.report.placement.keys()
        return max(0, len(taken) - self.switched_off(configuration, first))

    def reference(self, configuration: Configuration) -> ModelProto:
        """The float model as the configuration prepares it; the last few are remembered."""
        key = key_of(configuration)
        found = self._references.pop(key, None)
        self._references[key] = found = prepared(self.model, **configuration) if found is None else found
        while len(self._references) > REMEMBERED:
            del self._references[next(iter(self._references))]
        return found

    def simulated(self, configuration: Configuration) -> ModelProto:
        """The float model as the device computes it."""
        return simulated(self.model, **configuration)

    def _calibration(self, configuration: Configuration) -> Calibration:
        digest = fingerprint(self.reference(configuration))
        if digest not in self._calibrations:
            self._calibrations[digest] = calibrate(self.model, self.split.choosing, **configuration)
        return self._calibrations[digest]
