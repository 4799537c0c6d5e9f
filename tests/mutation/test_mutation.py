"""Mutants are changes of code that runs, the same ones for the same seed, and a room's tests notice them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace

import pytest

from tests.mutation.rooms import ROOMS, ROOT

pytest.importorskip("cosmic_ray")
pytestmark = pytest.mark.slow


def test_equal_seeds_give_equal_mutants() -> None:
    from tests.mutation.mutants import chosen

    found = chosen(["pow2", "solver"], 10, 1)
    assert found == chosen(["pow2", "solver"], 10, 1)
    assert found != chosen(["pow2", "solver"], 10, 2)
    assert len({(mutant.file, mutant.lines.start, mutant.operator) for mutant in found}) == 10
    for mutant in found:
        compile(mutant.code(), mutant.file, "exec")
        gone, come = mutant.difference()
        assert gone != come


def test_what_nobody_runs_is_no_place() -> None:
    from tests.mutation.mutants import unread

    source = "@cache\ndef f(x: int | None) -> int | str:\n    y: int | None = x | 1\n    return y\n"
    assert sorted(start for start, _ in unread(source)) == [(1, 1), (2, 9), (2, 24), (3, 7)]


def test_a_change_of_a_line_leaves_the_mutants_of_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.mutation import mutants

    def texts(found: list[mutants.Mutant]) -> list[tuple[str, ...]]:
        return [(each.file, each.operator, *each.difference()) for each in found]

    before = texts(mutants.chosen(["pow2"], 12, 1))
    source = mutants._source
    monkeypatch.setattr(mutants, "_source", lambda root, file: f"MORE = 1 + 2\n{source(root, file)}")
    after = [each for each in texts(mutants.chosen(["pow2"], 12, 1)) if "MORE" not in each[2]]
    assert before[: len(after)] == after
    assert len(after) < 12  # some of the new line


def test_tests_of_a_line_are_those_that_run_it_and_all_where_an_import_does() -> None:
    from tests.mutation.reached import Reached

    seconds = {"far.py::slow": 2.0, "far.py::quick": 1.0, "near.py::slow": 3.0, "other.py::a": 0.1}
    contexts = {"m.py": {"1": [""], "2": ["far.py::slow", "near.py::slow"], "3": ["far.py"], "4": ["gone.py::failed"]}}
    known = Reached(seconds, contexts)
    assert known.tests_of("m.py", [2], ["near.py"]) == ["near.py::slow", "far.py::slow"]
    assert known.tests_of("m.py", [3], []) == ["far.py::quick", "far.py::slow"]
    assert known.tests_of("m.py", [1], ["near.py"]) == ["near.py::slow", "other.py::a", "far.py::quick", "far.py::slow"]
    assert known.tests_of("m.py", [4, 5], []) == known.tests_of("n.py", [1], []) == []


def test_a_statement_is_the_innermost_one_or_its_head() -> None:
    from tests.mutation.mutants import Mutant

    found = Mutant("plan", "tests/mutation/trial.py", "core/AddNot", 0, range(1, 2))
    lines = (ROOT / found.file).read_text(encoding="utf-8").splitlines()
    place = next(number for number, line in enumerate(lines, 1) if "if not ended:" in line)
    assert replace(found, lines=range(place, place + 1)).statement() == range(place, place + 1)
    inside = next(number for number, line in enumerate(lines, 1) if "(item for item in items" in line)
    assert len(replace(found, lines=range(inside, inside + 1)).statement()) == 3


def test_every_equivalent_mutant_is_explained_and_still_a_change_of_the_code() -> None:
    from tests.mutation.campaign import EQUIVALENT

    for entry in tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", []):
        lines = [line.strip() for line in (ROOT / entry["file"]).read_text(encoding="utf-8").splitlines()]
        assert set(entry["gone"].splitlines()) <= set(lines), entry
        assert entry["come"] != entry["gone"]
        assert entry["why"]


def test_rooms_have_modules_and_every_module_has_tests() -> None:
    for room in ROOMS.values():
        assert room.files()
        for file in room.files():
            near, others = room.nearest(file)
            assert near or others
            assert all((ROOT / test).is_file() for test in (*near, *others))


@pytest.mark.timeout(900)
def test_mutants_fall() -> None:
    command = [sys.executable, "-m", "tests.mutation", "--room", "pow2", "--mutants", "4"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert re.search(r"([1-4]) of \1 fell \(100\.0 %\)\n$", answer.stdout)
