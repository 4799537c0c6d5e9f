"""What README prints, typed as a new user would: on a terminal of 80 columns, and where there is none."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")
pytest.importorskip("PIL")

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.startswith("ort-vitis ")
]
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def environment(**more: str) -> dict[str, str]:
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}", "OMP_NUM_THREADS": "1"}
    return known | more


def command(line: str) -> list[str]:
    return [sys.executable, "-m", "ort_vitis_plugin", *shlex.split(line)[1:]]


def on_a_terminal(line: str, folder: Path) -> tuple[int, str]:
    """Status and screen of a command on a terminal of 80 columns."""
    import fcntl
    import struct
    import termios

    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    process = subprocess.Popen(
        command(line), cwd=folder, env=environment(TERM="xterm", COLUMNS="80"), stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    shown, end = b"", time.monotonic() + 120
    while time.monotonic() < end:
        if select.select([controller], [], [], 0.5)[0]:
            try:
                part = os.read(controller, 65536)
            except OSError:  # the other end is closed
                break
            shown += part
        elif process.poll() is not None:
            break
    os.close(controller)
    return process.wait(10), _ESCAPE.sub("", shown.decode(errors="replace"))


@pytest.mark.slow
def test_on_a_terminal(tmp_path: Path) -> None:
    screens = {}
    for line in LINES:
        status, screens[line] = on_a_terminal(line, tmp_path)
        assert status == 0, f"{line}\n{screens[line]}"
        assert "…" not in screens[line]
    shown = "\n".join(screens.values())
    for part in ("Operators", "Moved by hardware rules", "SQNR", "right: 99", "ipu_cnn takes", "How it was made"):
        assert part in shown


@pytest.mark.slow
def test_without_a_terminal(tmp_path: Path) -> None:
    for line in LINES:
        done = subprocess.run(
            command(line), cwd=tmp_path, env=environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert (done.returncode, done.stderr) == (0, ""), line
        assert done.stdout
        assert "\x1b" not in done.stdout
