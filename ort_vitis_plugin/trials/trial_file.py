"""Trials are written down one by one, so that a search which was broken off goes on from them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OutputError
from ..onnx_io.whole_file import write_text
from .trial import Trial, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..data_readers import Feed

VERSION = 1


def digest_of(feeds: Iterable[Feed]) -> str:
    """The same for the same samples in the same order."""
    digest = hashlib.sha256()
    for feed in feeds:
        for name, value in sorted(feed.items()):
            array = np.asarray(value)
            digest.update(f"{name} {array.dtype} {array.shape} ".encode())
            digest.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())
    return digest.hexdigest()


class TrialFile:
    """JSON lines: a head that says what the trials are of, then a trial in each."""

    def __init__(self, path: str | Path | None, head: dict[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._head = {"version": VERSION, **head}
        self._known: dict[str, dict[str, Any]] = {}
        self._written: dict[str, dict[str, Any]] = {}
        self.resumed = 0
        if self._path is not None:
            self._open(self._path)

    def find(self, what: str, configuration: dict[str, Any], first: Trial | None) -> Trial | None:
        """The row of a configuration that was tried before."""
        row = self._known.get(key_of(configuration))
        if row is None:
            return None
        score = row["score"]
        gain = None if score is None or first is None or first.score is None else score - first.score
        self.resumed += 1
        return Trial(
            what,
            configuration,
            score,
            gain,
            row["on_device"],
            row["size"],
            row["seconds"],
            row["failure"],
            row.get("exchanged"),
        )

    def add(self, trial: Trial) -> None:
        """Write a row, in place of the one that the same configuration has."""
        if self._path is None:
            return
        row, is_known = trial.as_dict(), trial.key in self._written
        self._written[trial.key] = row
        if is_known:
            self._write_all(self._path)
        else:
            self._append(self._path, json.dumps(row))

    def _open(self, path: Path) -> None:
        try:
            lines = lines_of(path) if path.exists() else []
        except (OSError, UnicodeDecodeError) as error:
            raise OutputError(f"{str(path)!r} exists and is no file of trials ({error}); name another") from error
        if lines and lines[0] == self._head:
            self._known = {key_of(row["configuration"]): row for row in lines[1:] if "configuration" in row}
        elif lines and (not lines[0] or "version" not in lines[0]):
            raise OutputError(f"{str(path)!r} exists and is no file of trials; name another")
        # Whole lines alone: the last one may have been broken off.
        self._written = dict(self._known)
        self._write_all(path)

    def _write_all(self, path: Path) -> None:
        rows = [self._head, *self._written.values()]
        write_text(path, "".join(json.dumps(row) + "\n" for row in rows))

    def _append(self, path: Path, line: str) -> None:
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise OutputError(f"the trials cannot be written to {str(path)!r}: {error}") from error


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of trials: its head, then its rows; {} for what is none."""
    return [_parsed(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _parsed(line: str) -> dict[str, Any]:
    """A line; {} for one that was broken off."""
    try:
        found = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
