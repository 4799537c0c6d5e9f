"""Rounding shifts the mean of what layers give; biases take the shift back, layer by layer.

With all layers before it corrected already, and errors counted behind the activation (``bias_walk``):

    b' = b + E[W x_f] - E[Q x_q]        x_f: input in the float network, x_q: in the quantized one; no activation behind
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Correction, ModelError, Option, judged_plan, picked, spread

from .candidates import KEEP, ONLY_BIAS
from .fast_finetune import KEY as FINE_TUNING
from .plan_correction import finetuned_plan
from .settings import FinetuneSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ort_vitis_plugin.api import Context, Feed, Graph, Plan

# Means need few samples. Who asks for the correction gets 32; as part of the recipe a quarter of the caller's, and 16
# at most, keep it within the time of the rest of the call.
KEY = "BiasCorrection"
FEWEST, MOST, MOST_UNASKED, SHARE = 8, 32, 16, 4
GOOD = (
    "Recipe: biases are as they are: over {samples} samples held out the error of the outputs is {error:.3g} of float, "
    "and less would not show"
)
SETTINGS = FinetuneSettings(candidates=ONLY_BIAS, memory=1 << 29)


def correct_biases(
    plan: Plan, float_graph: Graph, samples: Iterable[Feed], context: Context, *, fallback: bool = False
) -> int:
    """Correct every bias of the plan that belongs to one layer with constant weights; returns how many were.

    A layer's is kept where samples held out confirm it, and all of them where the network does. Fine-tuning moves
    biases itself: beside it this is only its ``fallback``, taught by as many samples as where it is asked for.
    """
    if context.options[FINE_TUNING] not in (None, False) and not fallback:
        return 0
    known = context.statistics.samples if context.statistics is not None else 0
    asked = fallback or context.options.given(KEY)
    most = MOST if asked else min(max(known // SHARE, FEWEST), MOST_UNASKED)
    try:
        now = judged_plan(plan, float_graph, context)
        feeds = [] if now is None else picked(samples, spread(known, most, now.judge.numbers))
        if now is not None and now.is_good and not asked:
            context.note(GOOD.format(samples=len(now.judge), error=now.error.mean))
            return 0
        if now is None or len(feeds) < FEWEST:
            if asked:
                context.note(f"{KEY}: {known} samples are too few to learn from and to judge by; {FEWEST} would do")
            return 0
        found = finetuned_plan(plan, float_graph, feeds, context, SETTINGS, known=now)
    except ModelError as error:
        if asked:
            raise
        context.note(f"{KEY}: biases stay as they are, for {error}")
        return 0
    done = sum(layer.candidate != KEEP for layer in found.layers)
    if not found.layers:
        return 0
    context.note(
        f"BiasCorrection: {done} of {len(found.layers)} biases changed; over samples held out the error of the outputs "
        f"went from {found.before:.3g} to {found.after:.3g} of float"
    )
    return done


_DOC = "Let biases take back the shift of the mean that rounding causes, layer by layer. Not given: as Recipe says."
BIAS_CORRECTION = Correction(KEY, _DOC, Option(KEY, bool, False, _DOC), correct_biases, in_recipe=True)
