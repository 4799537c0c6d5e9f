"""Weights are rounded anew for the error of their layers' outputs, once a plan says onto which grid."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ort_vitis_plugin.api import CalibrationError, Correction, Option, Progress, picked, spread

from . import result_file
from .bias_correction import correct_biases
from .candidates import KEEP
from .fast_finetune import KEY, FastFinetune, check_installed, fast_finetune
from .plan_correction import finetuned_plan
from .samples import ENOUGH, FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ort_vitis_plugin.api import Configuration, Context, Feed, Graph, Plan

    from .finetuned import LayerResult


def _asked(configuration: Configuration) -> FastFinetune:
    given = configuration.options[KEY]
    return fast_finetune(given if isinstance(given, dict) else {}, configuration.weight_roundings())


def _check(configuration: Configuration) -> None:
    """Refuse, before any work, what could only fail."""
    asked = _asked(configuration)
    check_installed(asked)
    if configuration.request.reader is None:
        raise CalibrationError(
            f"{KEY} learns from samples, and there is no calibration_data_reader: random data would tune the network "
            f"to noise; give at least {FEWEST} samples, {ENOUGH} are enough"
        )
    if asked.result_path is not None:
        result_file.check(asked.result_path)


def finetune_plan(plan: Plan, float_graph: Graph, samples: Iterable[Feed], context: Context) -> int:
    """Round the plan's weights anew, layer by layer; returns how many layers changed.

    Where samples held out do not confirm it for the network, biases alone are corrected.

    Raises:
        CalibrationError: there are fewer than 4 samples.
    """
    asked = _asked(context)
    known = context.statistics.samples if context.statistics is not None else 0
    feeds = picked(samples, spread(known, asked.samples or known))
    with Progress("fine-tuned layers", 0) as progress:

        def done(layer: LayerResult, number: int, of: int) -> None:
            progress.total(of)
            progress.advance()

        found = finetuned_plan(
            *(plan, float_graph, feeds, context, asked.settings),
            rounding=asked.rounding,
            on_layer=done,
            result_path=asked.result_path,
        )
    changed = Counter(layer.candidate for layer in found.layers if layer.candidate != KEEP)
    for layer in found.layers:
        if layer.reason:
            context.note(f"{KEY}: {layer.node}: {layer.reason}")
    if found.interrupted:
        context.note(f"{KEY} was interrupted: the layers done so far are kept")
    which = ", ".join(f"{count} by {name}" for name, count in sorted(changed.items())) or "none"
    moved = sum(layer.moved != 0 for layer in found.layers)
    which += f", {moved} with weights at another position" if moved else ""
    context.note(
        f"{KEY}: of {len(found.layers)} layers {which}; over samples held out the error of the outputs went from "
        f"{found.before:.3g} to {found.after:.3g} of float{', as the result file says' if found.reused else ''}"
    )
    if not changed:
        return correct_biases(plan, float_graph, samples, context, fallback=True)
    return sum(changed.values())


_DOC = (
    "Round weights for the error of their layers' outputs, and let biases follow: True, or a dict with OptimAlgorithm "
    "(hessian, bias; adaround and adaquant train with PyTorch), DataSize, FixedSeed, ResultFile, MemoryLimit ..."
)
FAST_FINETUNE = Correction(
    KEY, _DOC, Option(KEY, dict[str, Any] | bool | None, None, _DOC), finetune_plan, check=_check
)
