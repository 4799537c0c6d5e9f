"""``ort-vitis tune``: configurations are tried until one is good enough, or the time is up."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import rich_click as click

from .configuration import configuration_options, keywords_of, said
from .data_arguments import data_options, data_reader
from .gates import NOT_MET
from .metric_names import metric_named
from .output import Output
from .verb import verb
from .whole_command import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ort_vitis_plugin.trials.trial import Trial
    from ort_vitis_plugin.trials.tune import Tuned

SEARCH = "Search"
TARGET = "ipu_cnn"
BUDGET, SHORT_BUDGET = "5m", "1m"
HEADINGS = ("what", "#score", "#exchanged", "#gain", "#on the device", "#bytes", "#seconds", "why not")


@verb(
    "tune",
    examples=(
        "ort-vitis tune digits.onnx -o tuned.onnx --data samples.npz --goal 30",
        "ort-vitis tune digits.onnx -o tuned.onnx --data pictures --metric top1 --budget 10m",
        "ort-vitis tune digits.onnx -o tuned.onnx --data samples.npz --preset cpu --goal 35 --types QInt16",
    ),
)
@click.argument("model", metavar="MODEL")
@click.option("-o", "--output", metavar="OUT", required=True, help="The file to write; .toml and trials lie beside it.")
@data_options(required=True)
@click.option(
    "--metric",
    metavar="NAME",
    default="sqnr",
    panel=SEARCH,
    help="sqnr, top1, or FILE.py:FUNCTION of a session (default: sqnr).",
)
@click.option("--goal", metavar="X", type=float, panel=SEARCH, help="Stop here; exit with 3 where it is not reached.")
@click.option("--budget", metavar="TIME", default=BUDGET, panel=SEARCH, help=f"90s, 5m, 1h (default: {BUDGET}).")
@click.option(
    "--keep-on-device",
    metavar="SHARE",
    type=float,
    default=0.9,
    panel=SEARCH,
    help="Of the nodes that are there at first (default: 0.9).",
)
@click.option("--types", metavar="TYPE", multiple=True, panel=SEARCH, help="Wider types for few tensors.")
@configuration_options
def tune_verb(
    out: Output,
    model: str,
    output: str,
    metric: str,
    goal: float | None,
    budget: str,
    keep_on_device: float,
    types: tuple[str, ...],
    **flags: Any,
) -> int:
    """Try configurations on one calibration, and write the best.

    Half of the samples choose ranges, the other half judges; what is taken is better where they are exchanged too.
    Ctrl-C keeps the best so far; the same command goes on.
    """
    from ort_vitis_plugin.trials.tune import tune

    found = said(flags)
    keywords = keywords_of(found)
    target = keywords["extra_options"].pop("Preset", TARGET)
    tuned = tune(
        model,
        data_reader(flags, found.get("samples")),
        target=target,
        metric=metric_named(metric),
        goal=goal,
        budget=budget,
        keep_on_device=keep_on_device,
        types=types,
        out=output,
        **keywords,
    )
    return show_search(out, tuned, goal)


def show_search(out: Output, tuned: Tuned, goal: float | None) -> int:
    """Draw the trials, those that none beats, and what the best says; 3 where the goal was not reached."""
    out.table("Trials", HEADINGS, _rows(tuned.trials))
    out.table("Not beaten: score against nodes on the device", HEADINGS[:-1], (r[:-1] for r in _rows(tuned.pareto)))
    out.print(f"best: {tuned.best.what}\n\n{tuned.toml()}\nwritten: {tuned.result.path}")
    out.data(
        {
            "best": tuned.best.as_dict(),
            "reached": tuned.reached,
            "why_not": tuned.why_not,
            "trials": [trial.as_dict() for trial in tuned.trials],
            "pareto": [trial.as_dict() for trial in tuned.pareto],
            "report": tuned.result.report.as_dict(),
        }
    )
    if tuned.interrupted:
        print(f"interrupted: the best of {len(tuned.trials)} trials is kept", file=sys.stderr)
        return INTERRUPTED
    if tuned.why_not:
        print(f"{'gate' if goal is not None else 'note'}: {tuned.why_not}", file=sys.stderr)
    return NOT_MET if goal is not None and not tuned.reached else 0


def _rows(trials: Iterable[Trial]) -> Iterator[tuple[str, ...]]:
    for trial in trials:
        score, exchanged = ("" if each is None else f"{each:.4g}" for each in (trial.score, trial.exchanged))
        gain = "" if trial.gain is None else f"{trial.gain:+.4g}"
        size, seconds = f"{trial.size:,}", f"{trial.seconds:.1f}"
        yield trial.what, score, exchanged, gain, str(trial.on_device), size, seconds, trial.failure
