"""Fast fine-tuning is the ONNX flow's: each layer is to give, from quantized inputs, what it gave in float.

Channels are made alike first where the network comes nearer by it: no rounding gives back what one step for channels of
very different ranges has taken.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from onnx import ModelProto

from ort_vitis_plugin.api import network_error

from . import host_calls
from .errors import ConfigError
from .narrow import quantized

log = logging.getLogger(__name__)

ALGORITHMS = ("adaquant", "adaround", "hessian")
ENOUGH = 8


@dataclass(frozen=True)
class FinetuneOptions:
    """How fast fine-tuning runs. "hessian" trains nothing; the others go on from what it finds.

    ``batch_size`` counts columns of a layer's input, ``learning_rate`` steps of the weight; ``held_out`` is the share
    of the samples that judges a change. ``equalize``: whether channels are made alike first (None: where the outputs on
    samples held out come nearer to float).
    """

    algorithm: Literal["adaquant", "adaround", "hessian"] = "adaquant"
    iterations: int = 400
    batch_size: int = 1024
    learning_rate: float = 0.03
    held_out: float = 0.25
    seed: int = 0
    equalize: bool | None = None

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ConfigError(f"algorithm={self.algorithm!r}: there are {', '.join(map(repr, ALGORITHMS))}")
        if self.iterations < 1 or self.batch_size < 1 or not self.learning_rate > 0 or not 0 < self.held_out < 1:
            raise ConfigError(
                "iterations and batch_size are at least 1, learning_rate is above 0, held_out between 0 and 1"
            )

    def as_option(self) -> dict[str, Any]:
        """The value of FastFinetune."""
        trained = {"NumIterations": self.iterations, "BatchSize": self.batch_size, "LearningRate": self.learning_rate}
        common = {"OptimAlgorithm": self.algorithm, "HeldOut": self.held_out, "FixedSeed": self.seed}
        return common if self.algorithm == "hessian" else {**common, **trained}


def finetuned(
    model: ModelProto,
    feeds: Sequence[host_calls.Feed],
    settings: host_calls.Settings,
    options: FinetuneOptions,
    weight_bits: int,
) -> host_calls.Written:
    """The quantized model with weights and biases moved; ``feeds`` are samples by input name (no labels)."""
    feeds = _several(feeds)
    settings = _equalized(model, feeds, settings, options, weight_bits)
    return quantized(model, feeds, settings, weight_bits, options.as_option())


def _several(feeds: Sequence[host_calls.Feed]) -> list[host_calls.Feed]:
    """Batches, of which some are to judge: few large ones are taken apart."""
    parts = -(-ENOUGH // len(feeds))
    if parts == 1:
        return list(feeds)
    found = []
    for feed in feeds:
        sizes = {array.shape[0] if array.ndim else 0 for array in feed.values()}
        count = min(parts, *sizes) if len(sizes) == 1 else 1
        split = {name: np.array_split(array, max(count, 1)) for name, array in feed.items()} if count > 1 else {}
        found += [{name: split[name][at] for name in feed} for at in range(count)] if split else [feed]
    return found


def _equalized(
    model: ModelProto,
    feeds: Sequence[host_calls.Feed],
    settings: host_calls.Settings,
    options: FinetuneOptions,
    weight_bits: int,
) -> host_calls.Settings:
    """The settings, with cross-layer equalization where that is asked for, or brings the network nearer."""
    is_fixed = "include_cle" in settings.arguments or settings.regions is not None
    if options.equalize is False or (options.equalize is None and is_fixed):
        return settings
    equalized = replace(settings, arguments={**settings.arguments, "include_cle": True})
    if options.equalize:
        return equalized
    judging = feeds[-max(1, round(len(feeds) * options.held_out)) :]
    wanted = [host_calls.run(model, feed) for feed in judging]
    errors = []
    for each in (settings, equalized):
        with host_calls.quiet():
            written = quantized(model, feeds, each, weight_bits)
        errors.append(network_error(wanted, [host_calls.run(written.model, feed) for feed in judging]).mean)
    log.info("held-out error of the outputs: %.4g, and %.4g with channels made alike", *errors)
    return equalized if errors[1] < errors[0] else settings
