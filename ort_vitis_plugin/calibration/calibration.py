"""What calibration leaves: sketches by tensor, in one file, for the model that they were made of and no other."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data_readers.files import read_failure
from ..errors import CalibrationError, QuantizationError
from ..onnx_io.whole_file import whole_file
from ..sketch import Sketch
from .channel_squares import Channels, ChannelSquares
from .fingerprint import fingerprint
from .observe import NonFinite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import ModelProto

_VERSION = 1


@dataclass
class Calibration:
    """Sketches by tensor, the model they belong to, and what was not finite in which sample.

    ``made`` says which settings prepared the model, for the message where another model comes. ``energies`` holds sums
    of squares of channels that weights multiply; older files lack both.
    """

    sketches: dict[str, Sketch]
    fingerprint: str
    samples: int = 0
    non_finite: list[NonFinite] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)
    energies: dict[Channels, ChannelSquares] = field(default_factory=dict)

    def merge(self, other: Calibration) -> None:
        """Take in a calibration of the same model and tensors with other samples, numbered on from ours.

        Raises:
            CalibrationError: the other one is of another model.
        """
        if other.fingerprint != self.fingerprint:
            raise CalibrationError("these calibrations belong to different models and cannot be merged")
        if set(other.sketches) != set(self.sketches):
            names = sorted(set(other.sketches) ^ set(self.sketches))
            raise CalibrationError(f"only one of the calibrations has {', '.join(names[:5])}")
        self.non_finite += [
            NonFinite(each.tensor, each.sample + self.samples, each.nans, each.infinities) for each in other.non_finite
        ]
        self.samples += other.samples
        for name, sketch in other.sketches.items():
            self.sketches[name].merge(sketch)
        # Of some of the samples alone they would not be the mean.
        self.energies = {channels: squares for channels, squares in self.energies.items() if channels in other.energies}
        for channels, squares in self.energies.items():
            squares.merge(other.energies[channels])

    def check(self, model: ModelProto | str | Path, tensors: Iterable[str] = ()) -> None:
        """Raise unless this is a calibration of that model and has all those tensors."""
        if fingerprint(model) != self.fingerprint:
            raise CalibrationError("the calibration was made for another model; calibrate this one")
        if missing := [name for name in tensors if name not in self.sketches]:
            raise CalibrationError(f"the calibration has no tensor {', '.join(missing[:5])}; calibrate again")

    def save(self, path: str | Path) -> None:
        """One file, whole or not at all.

        Raises:
            OutputError: it cannot be written.
        """
        head = {
            "version": _VERSION,
            "fingerprint": self.fingerprint,
            "samples": self.samples,
            "non_finite": [asdict(each) for each in self.non_finite],
            "tensors": list(self.sketches),
            "made": self.made,
            "channels": [[*astuple(channels), squares.count] for channels, squares in self.energies.items()],
        }
        arrays = {f"sketch_{at}": _bytes(sketch.to_bytes()) for at, sketch in enumerate(self.sketches.values())}
        squares = {f"squares_{at}": squares.places for at, squares in enumerate(self.energies.values())}
        with whole_file(path) as file:
            np.savez(file, head=_bytes(json.dumps(head).encode()), **arrays, **squares)  # type: ignore[arg-type]

    @classmethod
    def load(
        cls, path: str | Path, model: ModelProto | str | Path | None = None, tensors: Iterable[str] = ()
    ) -> Calibration:
        """What ``save`` wrote; with a model, raise if it belongs to another one or lacks tensors.

        Raises:
            CalibrationError: there is no such file, or it holds something else.
        """
        try:
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
                calibration = cls._read(path, file)
        except FileNotFoundError as error:
            raise CalibrationError(f"there is no calibration file {path}") from error
        except (QuantizationError, MemoryError):
            raise
        except Exception as error:  # a broken archive makes zipfile, zlib, json and numpy raise whatever they meet
            raise CalibrationError(f"{path!s} is not a calibration file: {read_failure(error)}") from error
        if model is not None:
            try:
                calibration.check(model, tensors)
            except CalibrationError as error:
                raise CalibrationError(f"{path}: {error}, or name another file") from None
        return calibration

    @classmethod
    def _read(cls, path: str | Path, file: Any) -> Calibration:
        head = json.loads(file["head"].tobytes())
        if head["version"] != _VERSION:
            raise CalibrationError(
                f"{path} is a calibration of version {head['version']}; this release reads version {_VERSION}"
            )
        names, samples = head["tensors"], head["samples"]
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names) and type(samples) is int):
            raise CalibrationError(f"{path} is not a calibration file: its head is not one")
        sketches = {name: Sketch.from_bytes(file[f"sketch_{at}"].tobytes()) for at, name in enumerate(names)}
        energies = {
            Channels(*channels): ChannelSquares(file[f"squares_{at}"], count)
            for at, (*channels, count) in enumerate(head.get("channels", ()))
        }
        non_finite, made = [NonFinite(**each) for each in head["non_finite"]], head.get("made", {})
        made = made if isinstance(made, dict) else {}
        return cls(sketches, str(head["fingerprint"]), samples, non_finite, made, energies)


def _bytes(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)
