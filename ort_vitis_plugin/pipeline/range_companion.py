"""Beside onnxruntime's file of ranges lies what it has no place for: energies of channels, and corrected constants.

An ``.npz`` that is bound to the file of ranges by its content, and to the configuration: the next call, which needs no
samples, then gives the bytes of this one. Without it weights and biases are as the method alone gives them.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..calibration.channel_squares import Channels
from ..onnx_io.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ..request.settings import Settings


@dataclass(frozen=True)
class Companion:
    """Energies by channels, where weights follow them, and constants by name, those that corrections changed."""

    energies: Mapping[Channels, NDArray[np.float64]] = field(default_factory=dict)
    constants: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def companion_of(ranges: Path) -> Path:
    """The file beside a file of ranges."""
    return ranges.with_name(f"{ranges.name}.npz")


def write_companion(ranges: Path, settings: Settings, found: Companion) -> None:
    """One file, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    arrays = {f"energy_{at}": array for at, array in enumerate(found.energies.values())}
    arrays |= {f"constant_{at}": array for at, array in enumerate(found.constants.values())}
    names = {"channels": [astuple(channels) for channels in found.energies], "constants": list(found.constants)}
    with whole_file(companion_of(ranges)) as file:
        np.savez(
            file,
            digest=np.array(_digest(ranges, settings)),
            names=np.array(json.dumps(names)),
            **arrays,  # type: ignore[arg-type]
        )


def read_companion(ranges: Path, settings: Settings) -> Companion | None:
    """What lies beside a file of ranges; None where that is nothing, or belongs to other ranges or another call."""
    try:
        with companion_of(ranges).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            if str(file["digest"]) != _digest(ranges, settings):
                return None
            names = json.loads(str(file["names"]))
            return Companion(
                {Channels(*each): file[f"energy_{at}"] for at, each in enumerate(names["channels"])},
                {name: file[f"constant_{at}"] for at, name in enumerate(names["constants"])},
            )
    except MemoryError:
        raise
    except Exception:  # a broken archive makes zipfile, zlib, ast and json raise what they meet
        return None


def _digest(ranges: Path, settings: Settings) -> str:
    request = settings.request
    asked = [settings.described(), request.per_channel, request.reduce_range]
    asked += [sorted(request.op_types), sorted(request.nodes_to_quantize), sorted(request.nodes_to_exclude)]
    options = sorted((key, repr(value)) for key, value in request.given.items())
    known = hashlib.sha256(ranges.read_bytes())
    known.update(json.dumps([asked, options]).encode())
    return known.hexdigest()
