"""A file is there whole or not at all: bytes go to a scratch file beside it, which takes its name at the end.

    place_of(path)   the regular file that is meant, links followed       .NAME.xxxxxxxx.part   the scratch file

A writer locks its scratch file while it lives; the next writer of the same file removes those that nobody locks. Both
happen under a lock on the folder (flock). Where the system has no such locks nothing of others is ever removed.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, cast

from ..errors import ModelNotFoundError, OptionTypeError, OutputError
from .signals import held_signals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STREAMS = ("-", "/dev/stdout")
PATIENCE = 10.0  # seconds that a writer waits for another one's renames
LONGEST_NAME = 200  # bytes of a name that a scratch file repeats; file systems take 255
NEW = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
PROBE = 4096  # bytes that a folder must take before work starts
KINDS = (
    (stat.S_ISDIR, "a folder; give a file name"),
    (stat.S_ISFIFO, "a named pipe; only regular files are replaced"),
    (stat.S_ISSOCK, "a socket; only regular files are replaced"),
    (stat.S_ISCHR, "a device; only regular files are replaced"),
    (stat.S_ISBLK, "a device; only regular files are replaced"),
)

_written: ContextVar[tuple[list[Path], ...]] = ContextVar("written_files", default=())
_protected: ContextVar[frozenset[tuple[int, int]]] = ContextVar("protected_files", default=frozenset())


def is_stream(path: object) -> bool:
    """Whether a path means this process's standard output."""
    return str(path) in STREAMS


def place_of(path: str | Path) -> Path:
    """The file that an output path means, links followed; it is a regular one, or its folder can take it.

    Raises:
        OutputError: the path is a folder, a device, a pipe, a socket or a link to nothing, or no path at all.
        ModelNotFoundError: the folder does not exist.
        OptionTypeError: it is not text.
    """
    if not isinstance(path, (str, Path)):
        raise OptionTypeError(f"an output takes a path, not {path!r}")
    if not str(path):
        raise OutputError("the output is an empty path; give a file name")
    try:
        if os.path.islink(path) and not os.path.exists(path):
            raise OutputError(
                f"the output {str(path)!r} is a link to {os.readlink(path)!r}, which does not exist; "
                "remove the link, or name the file itself"
            )
        folder = Path(path).parent
        if not folder.is_dir():
            what = "is not a folder" if folder.exists() else "does not exist; create it first"
            raise ModelNotFoundError(f"the folder {str(folder)!r} of the output {what}")
        place = Path(os.path.realpath(path))
        if place.exists():
            mode = place.stat().st_mode
            for is_kind, what in KINDS:
                if is_kind(mode):
                    raise OutputError(f"the output {str(path)!r} is {what}")
        else:
            os.stat(place.parent)
    except (OSError, ValueError) as error:
        if isinstance(error, (OutputError, ModelNotFoundError)):
            raise
        raise OutputError(f"the output {path!a} is no path of a file: {error}") from error
    return place


def check_place(path: str | Path) -> Path:
    """``place_of``, once it is certain that its folder takes a file now.

    Raises:
        OutputError: see ``place_of``; or the folder is read-only or full.
    """
    place = place_of(path)
    if not os.access(place.parent, os.W_OK):
        raise OutputError(f"the folder {str(place.parent)!r} of the output is read-only")
    with as_output_error(path), held_signals():
        scratch = Scratch(place)
        try:
            scratch.file.write(bytes(PROBE))
            scratch.file.flush()
        finally:
            scratch.discard()
    return place


class Scratch:
    """A file beside the one that it will be, with the mode bits of any new file. Its writer holds a lock on it."""

    def __init__(self, place: Path) -> None:
        name = os.fsencode(place.name)
        self.prefix = f".{place.name if len(name) <= LONGEST_NAME else hashlib.sha256(name).hexdigest()[:16]}."
        with folder_lock(place.parent) as alone:
            if alone:
                self._sweep(place.parent)
            while True:
                self.path = place.with_name(f"{self.prefix}{secrets.token_hex(4)}.part")
                with suppress(FileExistsError):
                    descriptor = os.open(self.path, NEW, 0o666)  # less the umask
                    break
            self.file: IO[bytes] = os.fdopen(descriptor, "w+b")
            _locked(descriptor, 0)

    def _sweep(self, folder: Path) -> None:
        """Remove what killed writers of the same file left."""
        leftover = re.compile(re.escape(self.prefix) + "[0-9a-f]{8}\\.part")
        for name in os.listdir(folder):
            if not leftover.fullmatch(name):
                continue
            with suppress(OSError):
                descriptor = os.open(folder / name, os.O_RDWR)
                try:
                    if _locked(descriptor, 0):
                        os.unlink(folder / name)
                finally:
                    os.close(descriptor)

    def finish(self) -> None:
        """All bytes are on the disk. The lock stays until the file has its name, where open files can be renamed."""
        self.file.flush()
        os.fsync(self.file.fileno())
        if sys.platform == "win32":
            self.file.close()

    def put(self, place: Path) -> None:
        """Take the name of that file."""
        os.replace(self.path, place)
        self.file.close()

    def discard(self) -> None:
        """Remove the file if it still has its own name."""
        with suppress(OSError):
            self.file.close()
        with suppress(OSError):
            os.unlink(self.path)


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file open for writing that replaces ``path`` when the block ends, or leaves all as it was when it raises.

    ``-`` and ``/dev/stdout`` are written as they come. SIGINT and SIGTERM wait until the block ends.

    Raises:
        OutputError: see ``place_of``; or the bytes cannot be written.
    """
    if is_stream(path):
        with as_output_error(path):
            yield _standard_output()
            _standard_output().flush()
        return
    place = place_of(path)
    refuse_protected(place)
    with as_output_error(path), held_signals():
        scratch = Scratch(place)
        try:
            yield scratch.file
            scratch.finish()
            with folder_lock(place.parent):
                scratch.put(place)
            note_written(Path(path))
        finally:
            scratch.discard()


def write_text(path: str | Path, text: str) -> None:
    """A text file (UTF-8), whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "surrogatepass"))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder of the system's temporary ones that is gone after the block, also when a signal ends it.

    Raises:
        OutputError: the system has no folder for temporary files.
    """
    with held_signals() as held:
        try:
            folder = TemporaryDirectory(prefix="ort_vitis_")
        except OSError as error:
            raise OutputError(f"no temporary folder can be made ({error}); set TMPDIR to one that works") from error
        try:
            with held.released():
                yield Path(folder.name)
        finally:
            folder.cleanup()


@contextmanager
def written_files() -> Iterator[list[Path]]:
    """What is written in the block, in order."""
    paths: list[Path] = []
    token = _written.set((*_written.get(), paths))
    try:
        yield paths
    finally:
        _written.reset(token)


def note_written(path: Path) -> None:
    """A file is in its place."""
    for paths in _written.get():
        paths.append(path)


@contextmanager
def protected(paths: Iterable[Path]) -> Iterator[None]:
    """In the block none of these files is replaced or removed, whatever name it goes by."""
    token = _protected.set(_protected.get() | {identity for path in paths if (identity := identity_of(path))})
    try:
        yield
    finally:
        _protected.reset(token)


def is_protected(path: Path) -> bool:
    """Whether the call reads the file."""
    return identity_of(path) in _protected.get()


def refuse_protected(place: Path) -> None:
    """Raise where a file is to be replaced that this call reads.

    Raises:
        OutputError: it is one of those.
    """
    if is_protected(place):
        raise OutputError(f"{str(place)!r} is read by this call, and would be overwritten; choose another name")


def identity_of(path: str | Path) -> tuple[int, int] | None:
    """What tells a file from any other, whatever names it has; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


@contextmanager
def folder_lock(folder: Path) -> Iterator[bool]:
    """Whether no other process renames or removes in this folder now; False where the system cannot tell."""
    try:
        descriptor = os.open(folder, os.O_RDONLY) if sys.platform != "win32" else -1
    except OSError:
        descriptor = -1
    try:
        yield descriptor >= 0 and _locked(descriptor, PATIENCE)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _locked(descriptor: int, patience: float) -> bool:
    """Lock an open file for this writer alone, waiting so many seconds; it is unlocked when it is closed."""
    if sys.platform == "win32":
        return False
    import fcntl

    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() >= end:
                return False
            time.sleep(0.005)
        else:
            return True


def _standard_output() -> IO[bytes]:
    stream = sys.__stdout__
    if stream is None:
        raise OutputError("this process has no standard output")
    return cast(IO[bytes], stream.buffer)


@contextmanager
def as_output_error(path: str | Path) -> Iterator[None]:
    """What the system refuses in the block is an error that names the file.

    Raises:
        OutputError: so it is.
    """
    try:
        yield
    except (OutputError, BrokenPipeError):
        raise
    except OSError as error:
        raise OutputError(f"{str(path)!r} cannot be written: {error}") from error
