"""An installation without a compiler goes on without the library, and says so once."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(os.name != "posix", reason="tools are found by PATH alone on POSIX")
def test_no_compiler_is_said_once(tmp_path: Path) -> None:
    cmake, tool = shutil.which("cmake"), shutil.which("ninja") or shutil.which("make")
    if cmake is None or tool is None:
        pytest.skip("no cmake, or nothing that it builds with")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / Path(tool).name).symlink_to(tool)
    generator = "Ninja" if Path(tool).name == "ninja" else "Unix Makefiles"
    done = subprocess.run(
        [cmake, "-S", str(ROOT), "-B", str(tmp_path / "build"), "-G", generator],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tmp_path / "bin")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("No C++ compiler: installing without the custom-op library") == 1
    assert not list((tmp_path / "build").rglob("*.so"))
