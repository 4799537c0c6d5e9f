"""Move a factor per channel from one layer to the next until both use the range of their scale alike.

For layers 0 ... k, all but the first and last depthwise, with ranges r_j of channel i:

    m = (r_0 r_1 ... r_k) ^ 1/(k + 1)           what every layer's channel shall have
    s_j = (m / r_0) ... (m / r_j)               factor between layer j and j + 1
    w_j' = w_j s_j / s_(j-1),  b_j' = b_j s_j

For two layers that is s = sqrt(r_1 / r_0). Where a range is 0, or all are small, s = 1. What lies between two layers
is positively homogeneous, so that the model computes the same (outputs agree within 1e-4 of their largest value), or
does not act on what comes (``CLEThroughClip``).
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import CallOptions, Context, Graph, Stage, transform

from .layer import Layer
from .least_error import Codes, equalize_by_error
from .options import EqualizationOptions
from .pairs import Seam, seams
from .scale_groups import scale_groups
from .through_clip import limits_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .layer import Channels
    from .through_clip import Limits

MOST_SWEEPS = 1000
SETTLED = 1e-4  # a factor closer to 1 than this is no rewrite


def chains(found: list[Seam]) -> list[list[Seam]]:
    """Seams in runs that share depthwise layers: those are equalized together."""
    behind = {id(seam.head): seam for seam in found}
    inner = {id(seam.tail) for seam in found if seam.tail.depthwise}
    runs = []
    for seam in found:
        if id(seam.head) in inner:
            continue
        run = [seam]
        while run[-1].tail.depthwise and (following := behind.get(id(run[-1].tail))) is not None:
            run.append(following)
        runs.append(run)
    return runs


def factors(run: list[Seam], options: EqualizationOptions) -> list[Channels]:
    """s_j for every seam of a run."""
    append_bias = options.scale_append_bias
    ranges = [seam.head.row_range(append_bias=append_bias) for seam in run]
    ranges.append(run[-1].tail.column_range(run[-1].repeat))
    stacked = np.stack(ranges)
    usable = (stacked > 0).all(axis=0)
    if options.scale_use_threshold:
        usable &= stacked.sum(axis=0) >= options.weight_threshold / 2 * len(stacked)
    logs = np.log(np.where(usable, stacked, 1.0))
    return list(np.exp(np.cumsum(logs.mean(axis=0) - logs, axis=0))[:-1])


def sweep(runs: list[list[Seam]], options: EqualizationOptions, limits: Mapping[int, Limits]) -> None:
    """Equalize every run once, front to back."""
    for run in runs:
        for seam, s in zip(run, factors(run, options), strict=True):
            if id(seam) in limits:
                s = np.clip(seam.head.out_scale * s, *limits[id(seam)]) / seam.head.out_scale
            seam.head.out_scale *= s
            seam.tail.in_scale *= np.repeat(s, seam.repeat)


def iterate(
    runs: list[list[Seam]], layers: list[Layer], options: EqualizationOptions, limits: Mapping[int, Limits]
) -> int:
    """Sweep as often as asked, but no more than MOST_SWEEPS times, or until mean |dw| summed over layers is at most the
    threshold; returns the sweeps."""
    if options.steps != -1:
        for number in range(options.steps):
            before = [(layer.out_scale.copy(), layer.in_scale.copy()) for layer in layers]
            sweep(runs, options, limits)
            if all(
                np.array_equal(was, now)
                for layer, scales in zip(layers, before, strict=True)
                for was, now in zip(scales, (layer.out_scale, layer.in_scale), strict=True)
            ):
                return number + 1  # all later ones would change nothing either
            if number + 1 == MOST_SWEEPS:
                return MOST_SWEEPS
        return options.steps
    for number in range(1, MOST_SWEEPS + 1):
        before = [(layer.out_scale.copy(), layer.in_scale.copy()) for layer in layers]
        sweep(runs, options, limits)
        change = sum(layer.change(*scales) for layer, scales in zip(layers, before, strict=True))
        if change <= options.total_layer_diff_threshold:
            return number
    return MOST_SWEEPS


@transform(
    "CrossLayerEqualization",
    stage=Stage.PREPARE,
    default=None,
    after=("ReplaceClip6Relu", "FoldBatchNorm", "ConvertBNToConv"),
)
def equalize(graph: Graph, context: Context) -> int:
    """Equalize the channels of consecutive layers, where include_cle asks for it."""
    if not context.options[CallOptions].equalizes:
        return 0
    done = _by_range(graph, context)
    if context.options[EqualizationOptions].objective == "error":
        done += _by_error(graph, context)
    return done


def _by_range(graph: Graph, context: Context) -> int:
    """How many pairs of layers have other scales."""
    found, limits = limits_of(graph, context, seams(graph, context))
    layers = list({id(layer): layer for seam in found for layer in (seam.head, seam.tail)}.values())
    sweeps = iterate(chains(found), layers, context.options[EqualizationOptions], limits)
    moved = [seam.head.out_scale for seam in found if _is_scaled(seam.head.out_scale)]
    if moved:
        _write(graph, layers)
        _note(context, f"{len(moved)} pairs in {sweeps} sweep(s)", moved)
    return len(moved)


def _by_error(graph: Graph, context: Context) -> int:
    """How many groups of layers have other scales; none where this objective cannot be followed."""
    weight = context.weight
    if not weight.is_integer or context.request.per_channel:
        return 0
    zero = weight.symmetric_zero_point()
    levels = float(2**context.activation.bits) if context.activation.is_integer else float("inf")
    codes = Codes(weight.min - zero, weight.max - zero, 2.0 if context.method.power_of_two else 2.0**0.5, levels)
    groups = scale_groups(graph, context)
    equalize_by_error(graph, context, groups, codes)
    moved = [group.scale for group in groups if _is_scaled(group.scale)]
    if moved:
        _write(graph, [layer for group in groups for layer in (*group.heads, *group.tails)])
        _note(context, f"{len(moved)} groups by the error of their layers' outputs", moved)
    return len(moved)


def _write(graph: Graph, layers: list[Layer]) -> None:
    for layer in {id(layer): layer for layer in layers}.values():
        layer.write(graph)


def _is_scaled(scale: Channels) -> bool:
    return bool(np.abs(np.log(scale)).max() > SETTLED)


def _note(context: Context, what: str, scales: list[Channels]) -> None:
    largest = max(float(np.abs(np.log(scale)).max()) for scale in scales)
    context.note(f"cross-layer equalization: {what}, factors up to {np.exp(largest):.3g}")
