"""MinMSE takes the position whose squared error, over all values of all samples, is least."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from ort_vitis_plugin.api import (
    Configuration,
    ErrorCurve,
    OptionGroup,
    OrtOptions,
    PositionMethod,
    PowerOfTwoMethod,
    QType,
    Sketch,
    TensorFacts,
    option,
)


class MinMSEOptions(OptionGroup):
    """How MinMSE treats samples."""

    min_mse_mode: Literal["All", "MostCommon"] = option(
        "All",
        "Minimise over all samples, or for each apart and take the most common position.",
        key="MinMSEMode",
        methods=("MinMSE",),
    )


class Votes:
    """Each sample votes for its best position of each tensor; the sketches of samples are not kept."""

    def __init__(self, kind: QType, *, symmetric: bool) -> None:
        self.kind, self.symmetric = kind, symmetric
        self.positions: dict[str, Counter[int]] = {}

    def observe(self, sketches: Mapping[str, Sketch]) -> None:
        for name, sketch in sketches.items():
            curve = ErrorCurve(sketch, self.kind, self.kind.limits(), self.symmetric)
            if not curve.is_zero:
                self.positions.setdefault(name, Counter())[curve.best()] += 1

    def winner(self, name: str) -> int | None:
        """The most frequent position; of equally frequent ones the larger step."""
        votes = self.positions.get(name)
        return min(votes, key=lambda position: (-votes[position], position)) if votes else None


def votes(settings: Configuration) -> Votes | None:
    """What collects each sample's best positions, for MinMSEMode="MostCommon"."""
    if settings.options[MinMSEOptions].min_mse_mode == "All" or not settings.activation.is_integer:
        return None
    return Votes(settings.activation, symmetric=settings.options[OrtOptions].activation_symmetric)


# Bits of a float32's significand: codes of more bits tell no more about the largest values.
SIGNIFICAND = 24


def least_error(curve: ErrorCurve, tensor: TensorFacts) -> int:
    """argmin over all p of sum (x - q(x, p))^2; ties to the larger step.

    Bits beyond a float32's significand only would resolve the smallest values: they leave room for data that
    calibration did not see instead.
    """
    spare = curve.kind.bits - 1 - SIGNIFICAND
    if spare > 0:
        return curve.covering() - spare
    chosen = tensor.collected.winner(tensor.name) if isinstance(tensor.collected, Votes) else None
    return curve.best() if chosen is None else chosen


MIN_MSE = PositionMethod(PowerOfTwoMethod.MinMSE, "Power-of-two step of least squared error.", least_error, votes)
