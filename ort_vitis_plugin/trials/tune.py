"""The best configuration of a model is found by trying: one calibration, many plans, and judges that chose nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..calibration.fingerprint import fingerprint
from ..data_readers import Samples
from ..entry.quantize_static import check_output, quantize_static
from ..errors import CalibrationError, OptionError, OptionTypeError
from ..measure.evaluation import SQNR
from ..onnx_io.load import load_model
from ..onnx_io.whole_file import write_text
from ..plugin.catalog import qtype
from ..presets.toml_file import toml
from ..report.progress import Progress
from ..request.change import OPTIONS, changed_keywords
from .bench import Bench, split_of
from .budget import Budget, seconds_of
from .candidates import (
    asked_corrections,
    corrections,
    end_nodes,
    halves,
    is_plain,
    is_refused,
    products,
    ranges,
    regions,
    rules,
    simulated_shares,
    single_op_types,
    singles,
    steps,
    worst_tensors,
)
from .files_beside import files_beside
from .mixed_types import fewest
from .trial import Trial, pareto, plain
from .trial_file import TrialFile, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onnx import ModelProto

    from ..report.report import Result
    from ..request.change import Change
    from .candidates import Candidate
    from .scores import Metric
    from .trial import Configuration

ROUNDS = 3
KEPT = 0.9  # of the nodes that are on the device at first
TOLERANCE = {SQNR: 0.1}  # of a score that counts as better; of others
ANY = 1e-6
ENOUGH = 0.5  # of the best gain in a phase: then fewer nodes off the device count more
QUIET = {OPTIONS: {"Attribution": False}}  # the search has tried what there is to try
PLAIN = {OPTIONS: {"Recipe": "plain"}}
ALONE = "the method alone"
DECIBELS_OF_TYPES = 30.0  # the goal of mixed types where none is given


@dataclass(frozen=True)
class Tuned:
    """What a search found. ``best`` is a row of ``trials``; ``result`` is the model of its configuration with ranges of
    all samples; ``why_not`` says what stands between it and the goal, or why the search ended; empty where the goal
    was reached."""

    best: Trial
    trials: Sequence[Trial]
    result: Result
    reached: bool
    why_not: str = ""
    interrupted: bool = False

    @property
    def configuration(self) -> Configuration:
        """Keyword arguments of quantize_static."""
        return self.best.configuration

    @property
    def pareto(self) -> list[Trial]:
        """Rows that none beats in score without losing nodes on the device."""
        return pareto(self.trials)

    def toml(self) -> str:
        """The configuration as a file that ``load_config`` and ``--config`` read."""
        return configuration_text(self.configuration)


def configuration_text(configuration: Configuration) -> str:
    """Keyword arguments of quantize_static as TOML."""
    said = {key: value for key, value in plain(configuration).items() if key != OPTIONS}
    options = dict(plain(configuration).get(OPTIONS, {}))
    preset = options.pop("Preset", None)
    return toml({**({} if preset is None else {"preset": preset}), **said, OPTIONS: options})


def tune(
    model: ModelProto | str | Path,
    data: Any,
    *,
    target: str = "ipu_cnn",
    metric: Metric = SQNR,
    goal: float | None = None,
    budget: str | float = "5m",
    keep_on_device: float = KEPT,
    types: Iterable[Any] = (),
    out: str | Path | None = None,
    **arguments_of_quantize_static: Any,
) -> Tuned:
    """Try configurations of a float model until one reaches the goal, or the time is up.

    ``data`` is what ``quantize_static`` takes as calibration_data_reader: half of the samples choose ranges, the other
    half judges; the result has ranges of all. ``target`` is the name of a preset. ``metric`` is ``"sqnr"`` (decibels of
    the worst part of an output), ``"top1"`` (share of right rows where samples have labels, else of rows that agree
    with float), or a function of an onnxruntime session, higher being better. ``goal`` is a score; ``budget`` a time
    such as ``"5m"``; ``keep_on_device`` the share of the nodes on the device at first that must stay there. With
    ``types`` tensors get one of these wider types, as few as the goal needs. ``out`` is the model's file; beside it lie
    its configuration (``.toml``) and the trials (``.trials.jsonl``), from which a search that was broken off goes on.
    Ctrl-C ends the search with the best so far.

    Raises:
        OptionError: metric, budget or an argument is wrong.
        CalibrationError: there is no sample, or the first trial fails.
    """
    if not isinstance(keep_on_device, (int, float)) or not 0 <= keep_on_device <= 1:
        raise OptionError(f"keep_on_device takes a share from 0 to 1, not {keep_on_device!r}")
    if goal is not None and not (isinstance(goal, (int, float)) and math.isfinite(goal)):
        raise OptionError(f"goal takes a score, not {goal!r}")
    kinds = _known_types(types)
    limit = Budget(seconds_of(budget))
    given = arguments_of_quantize_static.pop(OPTIONS, None) or {}
    if not isinstance(given, Mapping):
        raise OptionTypeError(f"{OPTIONS} takes a dict, not {type(given).__name__}")
    first = changed_keywords(arguments_of_quantize_static, {OPTIONS: {"Preset": target, **given}})
    beside = None if out is None else files_beside(out)
    check_output(model, out, data, () if beside is None else beside.named())
    if beside is not None:
        beside.check()
    source = load_model(model)
    split = split_of(data, source)
    bench = Bench(source, split, metric, given.get("CustomOpLibraries") or ())
    head = {
        "model": fingerprint(source),
        "samples": digest_of([*split.choosing, *split.judging]),
        "metric": metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__),
        "first": plain(first),
    }
    rows = TrialFile(None if beside is None else beside.trials, head)
    wanted = DECIBELS_OF_TYPES if kinds and goal is None and metric == SQNR else goal
    search = _Search(bench, rows, limit, TOLERANCE.get(metric, ANY) if isinstance(metric, str) else ANY, wanted)
    interrupted = False
    try:
        search.begin(first, keep_on_device)
        if kinds:
            search.raise_types(kinds)
        else:
            search.run()
            search.conclude()
    except KeyboardInterrupt:
        if search.best is None:
            raise
        interrupted = True
    best = search.best
    assert best is not None
    readable = data if data is None or Samples(data, source).rewind() else split.all()
    result = quantize_static(model, out, readable, **changed_keywords(best.configuration, QUIET))
    if beside is not None:
        write_text(beside.configuration, configuration_text(best.configuration))
    return Tuned(best, search.rows, result, search.reaches(best), search.why_not(), interrupted)


def _known_types(types: Any) -> list[Any]:
    """The types, each of which somebody declares.

    Raises:
        UnsupportedError: nobody does.
        OptionError: they are no types at all.
    """
    found = [types] if isinstance(types, str) else types
    if not isinstance(found, Iterable):
        raise OptionError(f"types takes a list of types such as ['QInt16'], not {types!r}")
    kinds = list(found)
    for kind in kinds:
        qtype(kind)
    return kinds


class _Search:
    """Climbs from the first configuration, phase by phase; every row is kept."""

    def __init__(self, bench: Bench, file: TrialFile, limit: Budget, tolerance: float, goal: float | None) -> None:
        self.bench, self.file, self.limit, self.tolerance, self.goal = bench, file, limit, tolerance, goal
        self.rows: list[Trial] = []
        self.best: Trial | None = None
        self._keys: set[str] = set()
        self._least = 0.0
        self._progress: Progress | None = None

    def begin(self, configuration: Configuration, keep: float) -> None:
        """Try the configuration as it was asked for.

        Raises:
            CalibrationError: it fails, so there is nothing to compare with.
        """
        first = self._row("as asked for", configuration, None)
        if first.score is None:
            raise CalibrationError(f"the first trial fails, so there is nothing to tune: {first.failure}")
        self._least, self.best = keep * first.on_device, first

    def run(self) -> None:
        """All phases in order, and again where a round made something better."""
        self._try_plain()
        for _ in range(ROUNDS):
            before = self.best
            self._climb(rules)
            self._climb(steps)
            self._climb(self._simulated, again=False)
            for phase in (corrections, products, ranges, end_nodes, single_op_types):
                self._climb(phase)
            self._narrow()
            self._climb(singles)
            if self.is_over or self.best is before:
                return

    def _try_plain(self) -> None:
        """Climb from what the method alone gives, where corrections changed it: one takes longer than all the rest of a
        trial, so they are tried again on the best alone, for which time is kept."""
        assert self.best is not None
        first = self.best
        if self.is_over or is_plain(first.configuration):
            return
        row = self._attempt(ALONE, changed_keywords(first.configuration, PLAIN))
        if row is not None and row.score not in (None, first.score) and row.on_device >= self._least:
            self.best = row
            self.limit.kept = first.seconds

    def conclude(self) -> None:
        """The best is what it is with the corrections of the first configuration, or without, or that configuration."""
        first, best = self.rows[0], self.best
        if best is None or not is_plain(best.configuration) or is_plain(first.configuration):
            return
        self.limit.kept = 0.0
        corrected = asked_corrections(best.configuration)
        if best.what != ALONE and corrected is not None:
            self._take_best(self._try_all([corrected]))
        if not self.reaches(self.best) and _score(first) > _score(self.best):
            self.best = first

    def _simulated(self, bench: Bench, configuration: Configuration) -> Iterator[Candidate]:
        assert self.best is not None
        return simulated_shares(bench, configuration, math.floor(self.best.on_device - self._least))

    def raise_types(self, kinds: Sequence[Any]) -> None:
        """Give tensors wider types, one type after the other until the goal is reached."""
        assert self.best is not None
        configuration = self.best.configuration
        tensors = worst_tensors(self.bench, configuration)
        for kind in kinds:
            if self.is_over or not tensors:
                return
            fewest(configuration, tensors, kind, self._attempt_types, self.reaches)

    def reaches(self, trial: Trial | None) -> bool:
        """Whether a trial is as good as asked for, and enough of it on the device."""
        if trial is None or trial.score is None or self.goal is None:
            return False
        return trial.score >= self.goal and trial.on_device >= self._least

    @property
    def is_over(self) -> bool:
        """Whether the goal is reached, or the time is up."""
        return self.limit.is_over or self.reaches(self.best)

    def why_not(self) -> str:
        """What stands between the best and the goal; empty where it was reached."""
        if self.reaches(self.best) or self.best is None:
            return ""
        over = self.limit.is_over
        ended = f"the budget of {self.limit.seconds:g} s ended after {len(self.rows)} trials" if over else ""
        if over and len(self.rows) == 1:
            ended = f"the budget of {self.limit.seconds:g} s ended with the first trial; nothing else was tried"
        if self.goal is None:
            return ended
        text = f"the goal is {self.goal:g}, the best found {self.best.score:g}"
        better = [row for row in self.rows if row.score is not None and row.score >= self.goal]
        if better:
            most = max(better, key=lambda row: row.on_device)
            text += f"; {most.what!r} reaches it with {most.on_device} nodes on the device, of {self._least:g} to keep"
        else:
            worst = self.bench.judge.judgements(self.bench.quantized(self.best.configuration).model)
            text += f"; the worst part is {worst[0].name} at {worst[0].decibels:.1f} dB" if worst else ""
        return f"{text}; {ended}" if ended else text

    def _climb(self, phase: Callable[[Bench, Configuration], Iterator[Candidate]], *, again: bool = True) -> None:
        """Ask a phase for changes of the best, once or until it makes nothing better."""
        while not self.is_over:
            assert self.best is not None
            rows = self._try_all(phase(self.bench, self.best.configuration))
            if not (self._take_best(rows) and again):
                return

    def _narrow(self) -> None:
        """Of the stretches left float the best one is halved as long as a half does nearly as well."""
        assert self.best is not None
        if self.is_over:
            return
        base = self.best
        found = list(regions(self.bench, base.configuration))
        while not self.is_over:
            rows = self._try_all(iter(found))
            scores = {row.what: row.score for row in rows if row.score is not None}
            best = max(found, key=lambda each: scores.get(each.what, float("-inf")), default=None)
            self._take_best(rows)
            if best is None or scores.get(best.what, float("-inf")) <= (base.score or 0.0) + self.tolerance:
                return
            names = best.change["nodes_to_exclude"]
            assert isinstance(names, list)
            if len(names) < 2:
                return
            found = list(halves(names))

    def _try_all(self, candidates: Iterable[Candidate]) -> list[Trial]:
        assert self.best is not None
        configuration, rows = self.best.configuration, []
        for candidate in candidates:
            if self.limit.is_over:
                break
            if is_refused(configuration, candidate.change) or self._loses_too_much(candidate):
                continue
            row = self._attempt(candidate.what, changed_keywords(configuration, candidate.change))
            if row is not None:
                rows.append(row)
        return rows

    def _loses_too_much(self, candidate: Candidate) -> bool:
        """Whether the nodes that it leaves float are more than may leave the device."""
        assert self.best is not None
        names = _listed(candidate.change.get("nodes_to_exclude"))
        chosen = _listed(candidate.change.get("op_types_to_quantize"))
        if not (names or chosen) or not self._least:
            return False
        here = self.bench.on_device(self.best.configuration)
        types = {name.removeprefix("op:") for name in names if name.startswith("op:")}
        lost = [
            name
            for name, op_type in here.items()
            if name in names or op_type in types or (chosen and op_type not in chosen)
        ]
        return self.best.on_device - len(lost) < self._least

    def _take_best(self, rows: Iterable[Trial]) -> bool:
        """Go on from the row that gains most for what it costs; False where none is better."""
        assert self.best is not None
        base = self.best.score or 0.0
        good = [row for row in rows if row.score is not None and row.on_device >= self._least]
        good = [row for row in good if (row.score or 0.0) > base + self.tolerance]
        if not good:
            return False
        most = max((row.score or 0.0) - base for row in good)
        near = [row for row in good if self.reaches(row)] or [
            row for row in good if (row.score or 0.0) - base >= ENOUGH * most
        ]
        self.best = max(near, key=lambda row: (row.on_device, row.score or 0.0, -row.size))
        return True

    def _attempt_types(self, what: str, change: Change) -> Trial | None:
        assert self.best is not None
        if self.limit.is_over:
            return None
        row = self._row(what, changed_keywords(self.rows[0].configuration, change), self.rows[0])
        best = self.best
        wider = _count_overrides(row.configuration)
        if row.score is not None and row.on_device >= self._least:
            if self.reaches(best):
                better = self.reaches(row) and wider < _count_overrides(best.configuration)
            else:
                better = row.score > (best.score or 0.0)
            self.best = row if better else best
        return row

    def _attempt(self, what: str, configuration: Configuration) -> Trial | None:
        return None if Trial(what, configuration).key in self._keys else self._row(what, configuration, self.rows[0])

    def _row(self, what: str, configuration: Configuration, first: Trial | None) -> Trial:
        row = self.file.find(what, dict(configuration), first)
        if row is None:
            row = self.bench.tried(what, configuration, first)
            self.file.add(row)
        self._keys.add(row.key)
        self.rows.append(row)
        return row


def _score(trial: Trial | None) -> float:
    return -math.inf if trial is None or trial.score is None else trial.score


def _listed(value: object) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, (list, tuple)) else []


def _count_overrides(configuration: Configuration) -> int:
    return len((configuration.get(OPTIONS) or {}).get("TensorQuantOverrides") or {})
