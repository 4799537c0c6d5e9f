"""A call at one of our doors: its files are looked at first, and it ends with an error of ours, or with the old files
or the new ones."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from ..data_readers.sample_paths import sample_paths
from ..foreign import ours_or_none
from ..onnx_io.call_files import CallFiles
from ..onnx_io.signals import terminable
from ..onnx_io.whole_file import written_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..options.request import Request

# Options that name files: what is read, and what is read if it exists and else written.
READ = {"CustomOpLibraries": "a custom-op library"}
BOTH = {
    "CalibrationCache": "CalibrationCache",
    "CalibrationCachePath": "calibration_cache_path",
    "ResultFile": "ResultFile",
}


@contextmanager
def whole_call(what: str) -> Iterator[None]:
    """What the block raises is of ``errors``; SIGTERM ends the process once scratch folders are gone; an interrupt
    says what was written before it."""
    with terminable(), written_files() as written, ours_or_none(what):
        try:
            yield
        except KeyboardInterrupt as interrupt:
            if written:
                interrupt.add_note(told(written))
            raise


def told(written: list[Path]) -> str:
    """What an interrupted call has written, in words."""
    files = dict.fromkeys(str(path) for path in written)
    return f"{', '.join(files)} {'is' if len(files) == 1 else 'are'} written" if files else "nothing was written"


def request_files(request: Request, *, checkpoint: Any = None) -> CallFiles:
    """The files that a request reads and writes."""
    files = CallFiles()
    files.read_model(request.model)
    files.reads += [("a file of the samples", path) for path in sample_paths(request.reader)]
    for key, what in READ.items():
        paths = request.given.get(key)
        files.reads += [(what, path) for path in paths if _is_path(path)] if isinstance(paths, (list, tuple)) else []
    # Some options are dicts of options.
    tables = [request.given, *(value for value in request.given.values() if isinstance(value, Mapping))]
    files.both += [(what, path) for key, what in BOTH.items() for each in tables if _is_path(path := each.get(key))]
    if _is_path(checkpoint):
        files.both.append(("the checkpoint", checkpoint))
    if request.output is not None:
        files.writes.append(("the output", request.output))
    if _is_path(report := request.given.get("Report")):
        files.writes.append(("Report", report))
    return files


def _is_path(value: object) -> TypeGuard[str | Path]:
    return isinstance(value, (str, Path)) and bool(str(value))
