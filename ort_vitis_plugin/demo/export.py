"""Model, samples and labelled pictures of the demo as files, so that a user can type what the documentation says."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OutputError
from . import data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SAMPLES = 128
PICTURES = 200
# Pixels are whole sixteenths; in a picture a sixteenth is this many steps of 255.
STEP = 15


def export_demo(folder: str | Path) -> list[Path]:
    """Write digits.onnx, samples.npz (128 digits) and pictures/0 ... pictures/9 (200 other digits, 8x8 gray png).

    A pixel of the pictures is 240 where the network's is 1: ``--scale 0.0041666667`` makes one of the other.

    Raises:
        OutputError: the folder cannot be written.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        return list(_written(target))
    except OSError as error:
        raise OutputError(f"the demo cannot be written to {str(target)!r}: {error}") from error


def _written(target: Path) -> Iterator[Path]:
    shutil.copyfile(data.model_path(), target / "digits.onnx")
    yield target / "digits.onnx"
    reader = data.calibration_reader(SAMPLES)
    images = [feed[data.INPUT] for feed in iter(reader.get_next, None)]
    np.savez(target / "samples.npz", image=np.concatenate(images))
    yield target / "samples.npz"
    feeds, labels = data.evaluation_feeds(PICTURES), data.evaluation_labels(PICTURES)
    for number, (feed, label) in enumerate(zip(feeds, labels, strict=True)):
        file = target / "pictures" / str(label) / f"{number:03d}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        sixteenths = np.round(feed[data.INPUT][0, 0] * data.BRIGHTEST)
        file.write_bytes(gray_png((sixteenths * STEP).astype(np.uint8)))
    yield target / "pictures"


def gray_png(pixels: NDArray[np.uint8]) -> bytes:
    """A picture [height, width] in the PNG format (gray, eight bits, no filter); Pillow is an extra."""
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    parts: tuple[tuple[bytes, bytes], ...] = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
