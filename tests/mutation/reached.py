"""A test that does not run a line cannot notice its change: every test of a room is traced once."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from coverage import Coverage

from .rooms import ROOT, Room
from .trial import forked, run_tests

AT_IMPORT = ""  # coverage's context outside every test
LIMIT = 1800.0  # seconds for all tests of a room


@dataclass
class Reached:
    """Seconds of each test that passes, by pytest's node id, and who runs a line: tests, whole files (by a fixture of
    theirs), or an import."""

    seconds: dict[str, float] = field(default_factory=dict)
    contexts: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # file -> line -> contexts

    def tests_of(self, file: str, lines: Iterable[int], near: list[str]) -> list[str]:
        """The tests that run one of the lines, those in the files ``near`` first, then short ones; what an import runs
        concerns every test."""
        found = {context for line in lines for context in self.contexts.get(file, {}).get(str(line), ())}
        reaching = [test for test in self.seconds if test in found or test.partition("::")[0] in found]
        others = [test for test in self.seconds if test not in {*reaching}] if AT_IMPORT in found else []
        return [
            test for tests in (reaching, others) for test in sorted(tests, key=lambda each: self._order(each, near))
        ]

    def _order(self, test: str, near: list[str]) -> tuple[bool, float]:
        return test.partition("::")[0] not in near, self.seconds[test]


class _Tracing:
    """A plugin of pytest that tells coverage which test runs."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.coverage.switch_context(item.nodeid)
        begun = time.monotonic()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.monotonic() - begun
            self.coverage.switch_context(AT_IMPORT)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        test = request._pyfuncitem.nodeid
        self.coverage.switch_context(test if fixturedef.scope == "function" else test.partition("::")[0])
        try:
            return (yield)
        finally:
            self.coverage.switch_context(test)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)


def traced(room: Room) -> Reached:
    """Run all tests of a room on the code as it is."""
    with TemporaryDirectory() as folder:
        answer = Path(folder) / "reached.json"

        def work() -> int:
            coverage = Coverage(data_file=None, config_file=False, include=[str(ROOT / file) for file in room.files()])
            tracing = _Tracing(coverage)
            coverage.start()
            run_tests([str(ROOT / place) for place in room.tests], tracing)
            coverage.stop()
            answer.write_text(json.dumps(asdict(_found(tracing))), encoding="utf-8")
            return 0

        forked(work, LIMIT)
        return Reached(**json.loads(answer.read_text(encoding="utf-8")))


def _found(tracing: _Tracing) -> Reached:
    data = tracing.coverage.get_data()
    contexts: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for file in data.measured_files():
        name = Path(file).relative_to(ROOT).as_posix()
        for line, found in data.contexts_by_lineno(file).items():
            contexts[name][str(line)] = found
    passed = {test: seconds for test, seconds in tracing.seconds.items() if test not in tracing.failed}
    return Reached(passed, dict(contexts))
