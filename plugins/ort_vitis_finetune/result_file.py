"""What was found for one model, its grids, samples and settings is found again: a file keeps it.

An ``.npz``: ``digest`` says of what, ``names`` the constants, ``codes/i`` and ``values/i`` what they became.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ort_vitis_plugin.api import CalibrationError, Graph, whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from .settings import FinetuneSettings
    from .simulation import Simulation


@dataclass(frozen=True)
class Saved:
    """Constants by name, as codes (weights) and as values (weights and biases), and what was said of each layer."""

    codes: dict[str, NDArray[np.int64]]
    values: dict[str, NDArray[np.float32]]
    story: dict[str, Any]


def digest_of(
    graphs: Iterable[Graph],
    simulation: Simulation,
    feeds: Iterable[Mapping[str, NDArray[Any]]],
    settings: FinetuneSettings,
) -> str:
    """SHA-256 of all that decides the result."""
    known = hashlib.sha256()
    for graph in graphs:
        for node in graph.sorted():
            known.update(node.SerializeToString(deterministic=True))
        for name in sorted(graph.initializers):
            _add(known, name, graph.array(name))
    for name in sorted(simulation.grids):
        grid = simulation.grids[name]
        _add(known, name, grid.scale)
        _add(known, f"{grid.low} {grid.high} {grid.axis} {grid.block}", grid.zero_point)
    known.update(json.dumps(simulation.moves, sort_keys=True).encode())
    for feed in feeds:
        for name in sorted(feed):
            _add(known, name, feed[name])
    chosen = {key: value for key, value in asdict(settings).items() if key not in ("memory", "keep_on_interrupt")}
    known.update(json.dumps(chosen, sort_keys=True).encode())
    return known.hexdigest()


def save(path: str | Path, digest: str, saved: Saved) -> None:
    """Write the file whole or not at all."""
    arrays: dict[str, Any] = {"digest": np.array(digest), "story": np.array(json.dumps(saved.story))}
    tables: dict[str, Mapping[str, NDArray[Any]]] = {"codes": saved.codes, "values": saved.values}
    for kind, table in tables.items():
        arrays[f"{kind}/names"] = np.array(json.dumps(list(table)))
        arrays.update({f"{kind}/{number}": array for number, array in enumerate(table.values())})
    with whole_file(path) as file:
        np.savez(file, **arrays)


def check(path: str | Path) -> None:
    """A file that is there was written by ``save``: no other is replaced.

    Raises:
        CalibrationError: it is something else.
    """
    load(path, "")


def load(path: str | Path, digest: str) -> Saved | None:
    """What the file keeps, or None where there is none, or it is of something else.

    Raises:
        CalibrationError: the file is not one of ours.
    """
    if not Path(path).is_file():
        return None
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            if str(file["digest"]) != digest:
                return None
            tables = [
                {name: file[f"{kind}/{number}"] for number, name in enumerate(json.loads(str(file[f"{kind}/names"])))}
                for kind in ("codes", "values")
            ]
            return Saved(tables[0], tables[1], json.loads(str(file["story"])))
    except MemoryError:
        raise
    except Exception as error:  # broken archives and headers make zipfile, zlib, ast and json raise what they meet
        raise CalibrationError(
            f"{str(path)!r} exists and is no ResultFile of FastFinetune, or a broken one; remove it, or name another"
        ) from error


def _add(known: Any, name: str, array: NDArray[Any] | None) -> None:
    known.update(name.encode())
    if array is None:
        return
    known.update(f"{array.dtype}{array.shape}".encode())
    known.update(np.ascontiguousarray(array).tobytes() if array.dtype != object else repr(array.tolist()).encode())
