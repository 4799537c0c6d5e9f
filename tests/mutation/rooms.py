"""A room is a folder of code and the tests that answer for it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.test_mirror import ELSEWHERE, TESTS

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Room:
    """Globs of modules, and folders or files of tests, both from the root of the checkout."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]

    def files(self) -> list[str]:
        """The room's modules, in a fixed order."""
        found = {file for pattern in self.modules for file in ROOT.glob(pattern)}
        return sorted(file.relative_to(ROOT).as_posix() for file in found)

    def nearest(self, module: str) -> tuple[list[str], list[str]]:
        """The room's test files: those that answer for a module, and the others.

        The first bear its name, import it, name its steps or stand in the mirror's table; else they lie in a folder of
        its folder's name.
        """
        path = ROOT / module
        places = [ROOT / place for place in self.tests]
        files = sorted(file for place in places for file in ([place] if place.is_file() else place.rglob("test_*.py")))
        near = [file for file in files if file.stem == f"test_{path.stem}"]
        if (elsewhere := ELSEWHERE.get(module.removeprefix("ort_vitis_plugin/"))) is not None:
            near.append(TESTS / elsewhere)
        mention = _mention(path)
        near += [file for file in files if file not in near and mention.search(file.read_text(encoding="utf-8"))]
        near = near or [file for file in files if file.parent.name == path.parent.name]
        return _from_root(near), _from_root(file for file in files if file not in near)


def _mention(module: Path) -> re.Pattern[str]:
    steps = re.findall(r'^@\w+\(\s*"(\w+)"', module.read_text(encoding="utf-8"), re.MULTILINE)
    folder, name = module.parent.name, module.stem
    return re.compile("|".join([rf"\b{folder}\.{name}\b", rf"\bimport {name}\b", *steps]))


def _from_root(files: Iterable[Path]) -> list[str]:
    return [file.relative_to(ROOT).as_posix() for file in files]


def _of_host(name: str) -> Room:
    return Room((f"ort_vitis_plugin/{name}/**/*.py",), (f"tests/ort_vitis_plugin/{name}",))


def _of_plugin(name: str, *others: str) -> Room:
    return Room((f"plugins/{name}/**/*.py",), (f"tests/plugins/{name}", *others))


ROOMS = {
    **{name: _of_host(name) for name in ("planning", "plan", "solver", "calibration", "emission")},
    "pow2": _of_plugin("ort_vitis_pow2", "tests/ort_vitis_plugin/plan/test_error_curve.py"),
    "ipu": _of_plugin("ort_vitis_ipu"),
    "prepare": _of_plugin(
        "ort_vitis_prepare",
        *(f"tests/kinds/test_{kind}.py" for kind in ("decisions", "constants", "moved_data", "stored_weights")),
    ),
    "saving": Room(
        tuple(f"ort_vitis_plugin/onnx_io/{name}.py" for name in ("save", "two_files", "whole_file", "signals")),
        ("tests/ort_vitis_plugin/onnx_io",),
    ),
}
