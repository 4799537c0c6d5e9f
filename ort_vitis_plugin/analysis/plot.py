"""A look at the data: each tensor's distribution with the range chosen for it, and its error over positions."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OutputError, UnsupportedError
from ..foreign import public
from ..numerics.positions import scale_of
from ..numerics.qtypes import QType
from ..onnx_io.whole_file import whole_file
from ..plan.error_curve import ErrorCurve

if TYPE_CHECKING:
    from ..calibration import Calibration
    from ..sketch import Sketch

BINS = 200
AROUND = 6


@public
def plot(calibration: Calibration, folder: str | Path, kind: QType, *, symmetric: bool = True) -> list[Path]:
    """One .png per tensor: its histogram, and the squared error of ``kind`` at the positions around the best one.

    Raises:
        UnsupportedError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UnsupportedError("plots need matplotlib: pip install 'ort-vitis-plugin[plot]'") from error
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder {str(target)!r} cannot be made: {error}") from error
    written = []
    for number, (name, sketch) in enumerate(calibration.sketches.items()):
        if not sketch.count or sketch.abs_max == 0:
            continue
        figure = Figure(figsize=(10, 4), layout="tight")
        figure.suptitle(f"{name}  ({sketch.count:,} values)", fontsize=10)
        left, right = figure.subplots(1, 2)
        curve = ErrorCurve(sketch, kind, kind.limits(), symmetric)
        best = curve.best()
        _distribution(left, sketch, curve, best)
        _errors(right, curve, best)
        plain = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)[:100]
        file = target / f"{number:04d}_{plain}.png"
        with whole_file(file) as picture:
            figure.savefig(picture, dpi=100, format="png")
        written.append(file)
    return written


def _distribution(axes: Any, sketch: Sketch, curve: ErrorCurve, position: int) -> None:
    counts, edges = sketch.histogram(BINS)
    axes.stairs(counts, edges, fill=True)
    axes.set_yscale("log")
    zero, step = curve.zero_point(position), scale_of(position)
    low, high = ((code - zero) * step for code in curve.limits)
    for edge in (low, high):
        axes.axvline(edge, color="tab:red", linestyle="--")
    axes.set_title(f"range of {curve.kind} at position {position}: [{low:.4g}, {high:.4g}]", fontsize=9)
    axes.set_xlabel("value")


def _errors(axes: Any, curve: ErrorCurve, best: int) -> None:
    positions = range(best - AROUND, best + AROUND + 1)
    axes.plot(positions, [curve.error(position) for position in positions], marker="o")
    for position, label in ((best, "least error"), (curve.covering(), "never clips")):
        axes.axvline(position, linestyle="--", color="tab:red" if position == best else "tab:gray", label=label)
    axes.set_yscale("log")
    axes.set_title("squared error over the tensor's energy", fontsize=9)
    axes.set_xlabel("position p of the step 2^-p")
    axes.legend(fontsize=8)
