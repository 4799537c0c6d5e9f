"""The demo's network and handwritten digits, as files beside this one.

Pixels are stored as the integers 0 to 16 that scikit-learn ships; the network takes them divided by 16.
No calibration or evaluation digit was seen in training (`train.py`).
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from onnxruntime.quantization import CalibrationDataReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

INPUT = "image"
BRIGHTEST = 16


def model_path() -> Path:
    """Float network: 1x1x8x8 `image` in, 1x10 `logits` out."""
    return Path(__file__).with_name("digits.onnx")


@cache
def _stored() -> dict[str, NDArray[np.uint8]]:
    with np.load(Path(__file__).with_name("digits.npz")) as file:
        return {name: file[name] for name in file.files}


def _feeds(images: NDArray[np.uint8]) -> Iterator[dict[str, NDArray[np.float32]]]:
    for image in images:
        yield {INPUT: (image / np.float32(BRIGHTEST)).astype(np.float32)[None, None]}


class DigitsReader(CalibrationDataReader):  # type: ignore[misc]
    """Yields calibration digits one by one; `rewind` starts again."""

    def __init__(self, count: int) -> None:
        self._images = _stored()["calibration_images"][:count]
        self.rewind()

    def __len__(self) -> int:
        return len(self._images)

    def rewind(self) -> None:
        self._rest = _feeds(self._images)

    def get_next(self) -> dict[str, NDArray[np.float32]] | None:
        return next(self._rest, None)


def calibration_reader(count: int = 128) -> DigitsReader:
    """The first `count` calibration digits, at most all 200."""
    return DigitsReader(count)


def evaluation_feeds(count: int | None = None) -> list[dict[str, NDArray[np.float32]]]:
    """The first `count` evaluation digits as feeds of batch 1; all 500 by default."""
    return list(_feeds(_stored()["evaluation_images"][:count]))


def evaluation_labels(count: int | None = None) -> NDArray[np.uint8]:
    """The digit that each evaluation feed shows."""
    return _stored()["evaluation_labels"][:count]


def evaluate(session: InferenceSession, count: int | None = None) -> float:
    """Share of the evaluation digits that the session's first output ranks highest."""
    name = session.get_inputs()[0].name
    answers = [int(np.argmax(session.run(None, {name: feed[INPUT]})[0])) for feed in evaluation_feeds(count)]
    return float(np.mean(answers == evaluation_labels(count)))
