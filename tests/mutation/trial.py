"""A mutant is tried in a forked process that has imported what it does not change: onnxruntime, onnx, numpy, pytest."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import resource
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx  # noqa: F401  (imported once, for all forked processes)
import onnxruntime.quantization  # noqa: F401
import pytest

from .mutants import Mutant

NO_TESTS = 5  # pytest's exit status
MEMORY = 12 << 30  # bytes of addresses, so that a hog fails in its own process


def forked(work: Callable[[], int], seconds: float) -> int | None:
    """The exit status of a process that does the work, or nothing where it took too long or was ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reading)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        code = 120
        try:
            code = int(work())
        finally:
            os._exit(code)
    os.close(writing)
    ended = False
    try:
        ready, _, _ = select.select([reading], [], [], seconds)  # the end of the process closes its pipe
        ended = bool(ready)
    finally:
        if not ended:
            os.killpg(child, signal.SIGKILL)
        os.close(reading)
        _, status = os.waitpid(child, 0)
    return os.WEXITSTATUS(status) if ended and os.WIFEXITED(status) else None


class _Selection:
    """A plugin of pytest: these tests alone, in this order."""

    def __init__(self, tests: list[str]) -> None:
        self.place = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place), key=lambda item: self.place[item.nodeid]
        )


def run_tests(places: list[str], *plugins: object, stop: bool = False) -> int:
    """Pytest's exit status, in this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.dont_write_bytecode = True
    return pytest.main(["-q", "-p", "no:cacheprovider", *(["-x"] if stop else []), *places], plugins=[*plugins])


def passes(tests: list[str], seconds: float) -> bool | None:
    """Whether these tests (node ids) pass on the code as it lies there; nothing where they take too long, or end their
    process."""
    files = [*dict.fromkeys(test.partition("::")[0] for test in tests)]
    code = forked(lambda: run_tests(files, _Selection(tests), stop=True), seconds)
    return None if code is None or code > NO_TESTS else code in (0, NO_TESTS)


@contextmanager
def changed(mutant: Mutant, root: Path) -> Iterator[None]:
    """In the block the file holds the mutant."""
    file = root / mutant.file
    before = file.read_bytes()
    file.write_text(mutant.code(root), encoding="utf-8")
    try:
        yield
    finally:
        file.write_bytes(before)
