"""The trained networks of the tests, and their digits (those of the demo).

Each `NAME.onnx` beside this file is written by `train_NAME.py`. All run at batch 1 and give `logits`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions
from onnxruntime.quantization.calibrate import CalibrationDataReader

from ort_vitis_plugin.demo import data

if TYPE_CHECKING:
    from numpy.typing import NDArray

Feed = dict[str, "NDArray[np.float32]"]
NAMES = ("digits", "depthwise_skewed", "transformer", "halves")
# Those that eight bits ruin unless something is done; slow tests measure what.
HARD = ("depthwise_deep", "dead_channels")


class Digits(NamedTuple):
    """What calibrates and judges one network; no evaluation digit is among the calibration digits."""

    calibration: list[Feed]
    evaluation: list[Feed]
    labels: NDArray[np.uint8]


class FeedReader(CalibrationDataReader):  # type: ignore[misc]
    """Yields the given feeds; `rewind` starts again."""

    def __init__(self, feeds: list[Feed]) -> None:
        self._feeds = feeds
        self.rewind()

    def __len__(self) -> int:
        return len(self._feeds)

    def rewind(self) -> None:
        self._rest = iter(self._feeds)

    def get_next(self) -> Feed | None:
        return next(self._rest, None)


def network(name: str) -> Path:
    """Path of a float network; `digits` is the demo's."""
    if name not in NAMES + HARD:
        raise KeyError(f"{name}: there are {', '.join(NAMES + HARD)}")
    return data.model_path() if name == "digits" else Path(__file__).with_name(f"{name}.onnx")


def session(model: Path | str | bytes, options: SessionOptions | None = None) -> InferenceSession:
    """A one-thread session that computes Q and DQ as written.

    ORT's full optimization runs int8 by int8 convolutions with a 16-bit sum that saturates on processors without VNNI.
    """
    options = options or SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC
    return InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _cut(feed: Feed) -> Feed:
    return {"top": feed[data.INPUT][:, :, :4], "bottom": feed[data.INPUT][:, :, 4:]}


def digits(name: str = "digits", calibration: int = 100, evaluation: int = 500) -> Digits:
    """Digits as the named network takes them."""
    shape = _cut if name == "halves" else dict
    return Digits(
        [shape(feed) for feed in iter(data.calibration_reader(calibration).get_next, None)],
        [shape(feed) for feed in data.evaluation_feeds(evaluation)],
        data.evaluation_labels(evaluation),
    )


def reader(name: str, count: int = 100) -> FeedReader:
    """Calibration digits for the named network."""
    return FeedReader(digits(name, count, 0).calibration)


def logits(session: InferenceSession, feeds: list[Feed]) -> NDArray[np.float32]:
    """First output of every feed, stacked."""
    return np.concatenate([session.run(None, feed)[0] for feed in feeds])


def accuracy(session: InferenceSession, name: str) -> float:
    """Share of the 500 evaluation digits named rightly."""
    known = digits(name)
    return float(np.mean(logits(session, known.evaluation).argmax(1) == known.labels))


def sqnr(reference: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """10 log10(sum f^2 / sum (f - q)^2) in dB."""
    f, q = reference.astype(np.float64), other.astype(np.float64)
    noise = float(np.sum((f - q) ** 2))
    return float("inf") if noise == 0.0 else float(10 * np.log10(np.sum(f**2) / noise))
