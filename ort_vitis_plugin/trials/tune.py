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
from ..errors import OptionError, OptionTypeError
from ..measure.evaluation import SQNR
from ..onnx_io.load import load_model
from ..onnx_io.whole_file import write_text
from ..plugin.catalog import qtype
from ..presets.toml_file import toml
from ..request.change import OPTIONS, changed_keywords
from .bench import Bench, split_of
from .budget import Budget, seconds_of
from .climb import Climb
from .output_files import output_files
from .trial import Trial, pareto, plain
from .trial_file import TrialFile, digest_of

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..report.report import Result
    from .scores import Metric
    from .trial import Configuration

KEPT = 0.9  # of the nodes that are on the device at first
TOLERANCE = {SQNR: 0.1}  # of a score that counts as better; of others
ANY = 1e-6
QUIET = {OPTIONS: {"Attribution": False}}  # the search has tried what there is to try
DECIBELS_OF_TYPES = 30.0  # the goal of mixed types where none is given
DECIBELS_WITHOUT_DEVICE = 40.0  # of any search where none is given and the device takes no node


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
    half judges, and what is taken must be better with the halves exchanged too; the result has ranges of all.
    ``target`` is the name of a preset. ``metric`` is ``"sqnr"`` (decibels of the worst part of an output), ``"top1"``
    (share of right rows where samples have labels, else of rows that agree with float), or a function of an onnxruntime
    session, higher being better. ``goal`` is a score; ``budget`` a time such as ``"5m"``, of which as much is kept for
    the final call as the first trial foretells; ``keep_on_device`` the share of the nodes on the device at first that
    must stay there; where it takes none, a search by decibels without a goal ends at 40. With ``types`` tensors get one
    of these wider types, as few as the goal needs. ``out`` is the model's file; beside it lie its configuration
    (``.toml``) and the trials (``.trials.jsonl``), from which a search that was broken off goes on.
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
    beside = None if out is None else output_files(out)
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
    search = Climb(bench, rows, limit, TOLERANCE.get(metric, ANY) if isinstance(metric, str) else ANY, wanted)
    interrupted = False
    try:
        search.begin(first, keep_on_device, DECIBELS_WITHOUT_DEVICE if metric == SQNR else None)
        if kinds:
            search.raise_types(kinds)
        else:
            search.run()
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
