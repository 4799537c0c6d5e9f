"""A climb goes from the first configuration, phase by phase; every trial is a row, and the best row is kept.

The best of many trials owes part of its score to the samples that judged it. So what would be taken is judged once more
with the halves of the samples exchanged, and taken where it is better there too: a gain by chance is seldom one twice.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import CalibrationError
from ..request.change import OPTIONS, changed_keywords
from .candidates import (
    asked_corrections,
    corrections,
    end_nodes,
    equalization,
    halves,
    is_plain,
    is_refused,
    products,
    raised_groups,
    ranges,
    regions,
    rules,
    simulated_shares,
    single_op_types,
    singles,
    steps,
    worst_tensors,
)
from .mixed_types import fewest
from .trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..request.change import Change
    from .bench import Bench
    from .budget import Budget
    from .candidates import Candidate
    from .trial import Configuration
    from .trial_file import TrialFile

ROUNDS = 3
ENOUGH = 0.5  # of the best gain in a phase: then fewer nodes off the device count more
PLAIN = {OPTIONS: {"Recipe": "plain"}}
ALONE = "the method alone"
FINALISTS = 3  # that get corrections, each of which takes as long as the first trial
MOST_KEPT = 0.5  # of the budget, for these; and of all, for the call that writes the best
CONFIRMED = 3  # of the best of a phase, at most, are judged again
CHOICES = ("nodes_to_exclude", "op_types_to_quantize")  # that say what stays float


class Climb:
    """Climbs from the first configuration, phase by phase; every row is kept."""

    def __init__(self, bench: Bench, file: TrialFile, limit: Budget, tolerance: float, goal: float | None) -> None:
        self.bench, self.file, self.limit, self.tolerance, self.goal = bench, file, limit, tolerance, goal
        self.rows: list[Trial] = []
        self.best: Trial | None = None
        self._keys: set[str] = set()
        self._idle: set[str] = set()
        self._judged: dict[str, float | None] = {}  # on exchanged halves, in a search that was broken off
        self._least = 0.0

    def begin(self, configuration: Configuration, keep: float, enough: float | None = None) -> None:
        """Try the configuration as it was asked for. Where the device takes no node of it, nothing but ``enough`` would
        keep a search without a goal from leaving ever more of the model float.

        Raises:
            CalibrationError: it fails, so there is nothing to compare with.
        """
        first = self._row("as asked for", configuration, None)
        if first.score is None:
            raise CalibrationError(f"the first trial fails, so there is nothing to tune: {first.failure}")
        self._least, self.best = keep * first.on_device, first
        if self.goal is None and not first.on_device:
            self.goal = enough
        # It reads all samples where this trial read those that choose.
        self.limit.last = min(first.seconds / self.bench.split.share, MOST_KEPT * self.limit.seconds)
        self.limit.ahead = 0.0

    def run(self) -> None:
        """From the method alone where that may be, then corrections for the best few, then from the best of all."""
        self._try_plain()
        self._rounds()
        before = self.best
        self._correct_finalists()
        if self.best is not before:
            self._rounds()

    def _rounds(self) -> None:
        """All phases in order, and again where a round made something better."""
        for _ in range(ROUNDS):
            before = self.best
            self._climb(rules)
            for phase in (steps, self._simulated):
                self._climb(phase, again=False)
            for phase in (equalization, products, ranges):
                self._climb(phase)
            if not self.limit.kept:
                self._climb(corrections)
            for phase in (raised_groups, end_nodes, single_op_types):
                self._climb(phase)
            self._narrow()
            self._climb(singles)
            if self.is_over or self.best is before:
                return

    def _try_plain(self) -> None:
        """Climb from what the method alone gives, where corrections changed it: one takes longer than all the rest of a
        trial, so they are tried again on the best few, for which time is kept."""
        assert self.best is not None
        first = self.best
        if self.is_over or is_plain(first.configuration):
            return
        row = self._attempt(ALONE, changed_keywords(first.configuration, PLAIN))
        if row is not None and row.score not in (None, first.score) and row.on_device >= self._least:
            self.best = row
            each = first.seconds * self._judged_times
            self.limit.kept = max(each, min(FINALISTS * each, MOST_KEPT * (self.limit.seconds - self.limit.last)))

    def _correct_finalists(self) -> None:
        """Where corrections were left for the end, the best few get them. The best of all is what the search leaves:
        without them, with them, or the first configuration."""
        first, best = self.rows[0], self.best
        if best is None or not is_plain(best.configuration) or is_plain(first.configuration):
            return
        self.limit.kept = 0.0
        for finalist in [] if self.reaches(best) else self._finalists():
            corrected = asked_corrections(finalist.configuration)
            if corrected is not None and not self.is_over:
                row = self._attempt(
                    f"{finalist.what}, {corrected.what}", changed_keywords(finalist.configuration, corrected.change)
                )
                self._take_best([] if row is None else [row])
        if not self.reaches(self.best) and _score(first) > _score(self.best):
            self.best = first

    def _finalists(self) -> list[Trial]:
        """Changes that gain at least half as much as the best does, the best first, one of those that leave the same
        nodes float: what is a little better before corrections need not be so after them. What changed nothing but by
        chance is no other than what it came from."""
        alone = next(_score(row) for row in self.rows if row.what == ALONE)
        least = alone + ENOUGH * (_score(self.best) - alone)
        found: dict[tuple[tuple[str, ...], ...], Trial] = {}
        for row in sorted(self.rows, key=_score, reverse=True):
            near = _score(row) >= least and row.on_device >= self._least
            if near and row.what != ALONE and row.key not in self._idle and is_plain(row.configuration):
                float_nodes = (_listed(row.configuration.get(key)) for key in CHOICES)
                found.setdefault(tuple(map(tuple, float_nodes)), row)
        return list(found.values())[:FINALISTS]

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
        return _worth(trial) >= self.goal and trial.on_device >= self._least

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
        text = f"the goal is {self.goal:g}, the best found {_worth(self.best):g}"
        better = [row for row in self.rows if _worth(row) >= self.goal]
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
                if abs(_score(row) - _score(self.best)) <= self.tolerance:
                    self._idle.add(row.key)
        return rows

    def _loses_too_much(self, candidate: Candidate) -> bool:
        """Whether the nodes that it leaves float, or no longer simulates, are more than may leave the device."""
        assert self.best is not None
        if not self._least:
            return False
        names = _listed(candidate.change.get("nodes_to_exclude"))
        chosen = _listed(candidate.change.get("op_types_to_quantize"))
        first, now = self.rows[0].configuration, self.best.configuration
        off = self.bench.switched_off(changed_keywords(now, candidate.change), first)
        lost = max(0, off - self.bench.switched_off(now, first))
        if names or chosen:
            types = {name.removeprefix("op:") for name in names if name.startswith("op:")}
            lost += sum(
                name in names or op_type in types or (bool(chosen) and op_type not in chosen)
                for name, op_type in self.bench.on_device(now).items()
            )
        return self.best.on_device - lost < self._least

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
        near.sort(key=lambda row: (-row.on_device, -(row.score or 0.0), row.size))
        for row in near[:CONFIRMED]:
            confirmed = self._confirmed(row)
            if confirmed is not None:
                self.best = confirmed
                return True
        return False

    @property
    def _judged_times(self) -> int:
        """How often what is taken is judged."""
        return 2 if self.bench.can_exchange else 1

    def _confirmed(self, row: Trial) -> Trial | None:
        """The row with its score on the exchanged halves; None where that is less than the best has there."""
        assert self.best is not None
        if not self.bench.can_exchange:
            return row
        self.best, row = self._exchanged(self.best), self._exchanged(row)
        if row.exchanged is None or (self.best.exchanged is not None and row.exchanged < self.best.exchanged):
            return None
        return row if _worth(row) > _worth(self.best) + self.tolerance else None

    def _exchanged(self, row: Trial) -> Trial:
        if row.exchanged is not None:
            return row
        start, score = time.perf_counter(), self._judged.get(row.key)
        if score is None:
            score = self.bench.exchanged(row.configuration)
        judged = replace(row, exchanged=score, seconds=row.seconds + time.perf_counter() - start)
        self.rows[self.rows.index(row)] = judged
        self.file.add(judged)
        return judged

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
        elif row.exchanged is not None:  # known when the search asks for it, as in one that was not broken off
            self._judged[row.key] = row.exchanged
            row = replace(row, exchanged=None)
        self.limit.ahead = row.seconds * self._judged_times
        self._keys.add(row.key)
        self.rows.append(row)
        return row


def _score(trial: Trial | None) -> float:
    return -math.inf if trial is None or trial.score is None else trial.score


def _worth(trial: Trial | None) -> float:
    return -math.inf if trial is None or trial.worth is None else trial.worth


def _listed(value: object) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, (list, tuple)) else []


def _count_overrides(configuration: Configuration) -> int:
    return len((configuration.get(OPTIONS) or {}).get("TensorQuantOverrides") or {})
