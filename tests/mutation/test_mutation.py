"""Mutants are changes of code that runs, the same ones for the same seed, and a room's tests notice them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys
import tomllib

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
    assert "of 4 fell (100.0 %)" in answer.stdout
