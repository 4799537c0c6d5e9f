"""``python -m tests.zoo.resolution --zoo ZOO.py NAME --only PRESET``: how small a difference a score can show.

For networks whose score is the mean reciprocal rank of answers to queries (``evaluate`` embeds all queries, then as
many answers in the same order) or a mean area under ROC curves (it asks the zoo's ``auc``). The difference between
float and quantized, or between two files (``--files BEFORE AFTER``), is drawn anew from the same samples (bootstrap):
its standard error, and the interval in which 95 % of the draws lie, say what chance alone does.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx

from ort_vitis_plugin import custom_ops, quantize_static
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.zoo import configurations
from tests.zoo.__main__ import Feeds, zoo_at
from tests.zoo.drawn_scores import score_of

if TYPE_CHECKING:
    from tests.zoo.drawn_scores import Drawn

DRAWS = 10_000


class Resolution(NamedTuple):
    """Both scores, their difference, its standard error, and the interval in which 95 % of the draws lie."""

    before: float
    after: float
    difference: float
    error: float
    low: float
    high: float

    @property
    def shows(self) -> bool:
        """Whether the data can tell the difference from none."""
        return not self.low <= 0 <= self.high

    def __str__(self) -> str:
        return (
            f"{self.after:.4f} of {self.before:.4f}, difference {self.difference:+.4f}, standard error "
            f"{self.error:.4f}, 95 % from {self.low:+.4f} to {self.high:+.4f}: "
            f"{'shows' if self.shows else 'within the resolution of the data'}"
        )


def resolution(before: Drawn, after: Drawn, draws: int = DRAWS) -> Resolution:
    """The difference of two scores of the same samples, beside those of as many samples drawn with repetition."""
    number = len(before)
    counts = np.random.default_rng(0).multinomial(number, np.full(number, 1 / number), draws)
    differences = after.of(counts) - before.of(counts)
    low, high = np.nanquantile(differences, (0.025, 0.975))
    whole = np.ones((1, number), np.int64)
    left, right = float(before.of(whole)[0]), float(after.of(whole)[0])
    return Resolution(left, right, right - left, float(np.nanstd(differences, ddof=1)), float(low), float(high))


def session(model: Any) -> Any:
    """Of a file or model, with our operators."""
    return open_session(model if isinstance(model, onnx.ModelProto) else onnx.load(model), [custom_ops.register])


def main() -> int:
    """Print one line for each configuration, or for the two files."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.resolution", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="+", metavar="NAME", help="networks")
    parser.add_argument("--zoo", type=Path, required=True, help="the zoo's Python file")
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--only", action="append", help="a configuration, against float (may be repeated)")
    either.add_argument("--files", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="two files of one network")
    arguments = parser.parse_args()
    zoo = zoo_at(arguments.zoo)
    for name in arguments.names:
        case = getattr(zoo, f"load_{name}")()
        if arguments.files:
            left, right = (score_of(case, session(path), zoo) for path in arguments.files)
            print(f"{name}: {resolution(left, right)}", flush=True)
            continue
        model = onnx.load(case.path)
        before = score_of(case, session(model), zoo)
        for key in arguments.only:
            result = quantize_static(case.path, None, Feeds(case.calib), **configurations.of(name, model)[key])
            print(f"{name} {key}: {resolution(before, score_of(case, session(result.model), zoo))}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
