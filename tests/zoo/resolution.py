"""``python -m tests.zoo.resolution --zoo ZOO.py NAME --only PRESET``: how small a difference a search's score can show.

For networks whose score is the mean reciprocal rank of answers to queries: ``evaluate`` embeds all queries, then as
many answers in the same order. The difference between float and quantized is drawn anew from the same queries
(bootstrap): its standard error, and the interval in which 95 % of the draws lie, say what chance alone does.
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS = 10_000


class Listened:
    """A session that keeps what it gives."""

    def __init__(self, session: Any) -> None:
        self.session, self.given = session, []  # type: Any, list[Any]

    def get_inputs(self) -> Any:
        return self.session.get_inputs()

    def run(self, names: Any, feed: Any) -> Any:
        outputs = self.session.run(names, feed)
        self.given.append(outputs[0])
        return outputs


def reciprocal_ranks(embeddings: NDArray[np.float32]) -> Floats:
    """Of each query's answer: the first half of ``embeddings`` [2n, width] are queries, the second their answers."""
    half = len(embeddings) // 2
    likeness = embeddings[:half] @ embeddings[half:].T
    return 1 / ((likeness > np.diag(likeness)[:, None]).sum(1) + 1.0)


def ranks_of(case: Any, session: Any) -> Floats:
    """Reciprocal ranks of a case's queries, whose mean must be its score."""
    listened = Listened(session)
    score = case.evaluate(listened)
    found = reciprocal_ranks(np.concatenate(listened.given))
    if not np.isclose(found.mean(), score, atol=1e-9):
        raise SystemExit(f"the score {score} is no mean reciprocal rank, which would be {found.mean()}")
    return found


class Resolution(NamedTuple):
    """A mean difference, its standard error, and the interval in which 95 % of the draws lie."""

    difference: float
    error: float
    low: float
    high: float

    @property
    def shows(self) -> bool:
        """Whether the data can tell the difference from none."""
        return not self.low <= 0 <= self.high


def resolution(before: Floats, after: Floats, draws: int = DRAWS) -> Resolution:
    """The mean of after - before, sample by sample, beside those of as many samples drawn with repetition."""
    differences = after - before
    picks = np.random.default_rng(0).integers(0, len(differences), (draws, len(differences)))
    means = differences[picks].mean(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Resolution(float(differences.mean()), float(means.std(ddof=1)), float(low), float(high))


def main() -> int:
    """Print one line for each configuration."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.resolution", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="+", metavar="NAME", help="networks that search")
    parser.add_argument("--zoo", type=Path, required=True, help="the zoo's Python file")
    parser.add_argument("--only", action="append", required=True, help="a configuration (may be repeated)")
    arguments = parser.parse_args()
    zoo = zoo_at(arguments.zoo)
    for name in arguments.names:
        case = getattr(zoo, f"load_{name}")()
        model = onnx.load(case.path)
        before = ranks_of(case, open_session(model))
        for key in arguments.only:
            result = quantize_static(case.path, None, Feeds(case.calib), **configurations.of(name, model)[key])
            after = ranks_of(case, open_session(result.model, [custom_ops.register]))
            found = resolution(before, after)
            print(
                f"{name} {key}: {after.mean():.4f} of {before.mean():.4f}, difference {found.difference:+.4f}, "
                f"standard error {found.error:.4f}, 95 % from {found.low:+.4f} to {found.high:+.4f}: "
                f"{'shows' if found.shows else 'within the resolution of the data'}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
