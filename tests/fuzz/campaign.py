"""Attacks one after the other, in processes that end when they hang: what was found, counted by kind."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import io
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

from ort_vitis_plugin.errors import QuantizationError
from ort_vitis_plugin.foreign import is_of_caller

from . import models, options, plugins, samples
from .attack import Family

FAMILIES: dict[str, Family] = {
    "models": models.attack,
    "samples": samples.samples,
    "caches": samples.caches,
    "options": options.attack,
    "plugins": plugins.attack,
}
HANGS = 60.0  # seconds
TOGETHER = 25  # attacks of one process
MEMORY = 8 << 30  # bytes of addresses, so that a hog fails in its own process


@dataclass
class Found:
    """Attacks by family, and those that went wrong: (family, number, what happened)."""

    tried: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, int, str]] = field(default_factory=list)


def campaign(seconds: float, seed: int, families: list[str], first: int = 0, most: int | None = None) -> Found:
    """Attacks of these families in turn until the time is over, or ``most`` of each were tried."""
    models.models()  # once, before any process starts; sessions are closed by then
    found = Found()
    end = time.monotonic() + seconds
    while time.monotonic() < end and (most is None or first < most):
        for family in families:
            count = TOGETHER if most is None else min(TOGETHER, most - first)
            _batch(family, seed, range(first, first + count), found)
        first += TOGETHER
    return found


def _batch(family: str, seed: int, numbers: range, found: Found) -> None:
    at = numbers.start
    while at < numbers.stop:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _child(family, seed, range(at, numbers.stop), writing)
        os.close(writing)
        at = _watch(family, at, child, reading, found)
        os.close(reading)


def _watch(family: str, at: int, child: int, reading: int, found: Found) -> int:
    """The number behind the last attack that was tried."""
    told = b""
    while True:
        ready, _, _ = select.select([reading], [], [], HANGS)
        part = os.read(reading, 1 << 16) if ready else b""
        told += part
        while b"\0" in told:
            line, _, told = told.partition(b"\0")
            found.tried[family] += 1
            if line:
                found.wrong.append((family, at, line.decode(errors="replace")))
            at += 1
        if ready and part:
            continue
        if not ready:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not ready or os.WIFSIGNALED(status):
            how = f"no answer within {HANGS:g} s" if not ready else f"ended by signal {os.WTERMSIG(status)}"
            found.tried[family] += 1
            found.wrong.append((family, at, how))
            return at + 1
        return at


def _child(family: str, seed: int, numbers: range, writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ["ORT_VITIS_TIME_LIMIT"] = "20"
    warnings.simplefilter("ignore")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)  # onnxruntime logs there
    for number in numbers:
        with tempfile.TemporaryDirectory(prefix="fuzz_") as folder:
            told = tried(family, seed, number, Path(folder))
        os.write(writing, told.encode(errors="replace")[:4000] + b"\0")
    os._exit(0)


def tried(family: str, seed: int, number: int, folder: Path) -> str:
    """Run one attack; what went wrong, or nothing."""
    rng = np.random.default_rng([seed, number, sorted(FAMILIES).index(family)])
    shutil.copytree(folder, folder, dirs_exist_ok=True)
    attack = FAMILIES[family](rng, folder, number)
    before = {path.name for path in folder.iterdir()}
    out = io.StringIO()
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            attack.run()
    except (QuantizationError, Warning):
        text = traceback.format_exc()
        if "UnexpectedError" in text:
            return f"{attack.what}\n{text[-3000:]}"
    except BaseException as error:
        if not is_of_caller(error):
            return f"{attack.what}\n{traceback.format_exc()[-3000:]}"
    if "this is a defect of ort_vitis_plugin" in out.getvalue():
        return f"{attack.what}\n{out.getvalue()[-1500:]}"
    return _half_written(attack.what, folder, before)


def _half_written(what: str, folder: Path, before: set[str]) -> str:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name.endswith(".part"):
            return f"{what}\nleft {path.name}"
        if path.name not in before and path.suffix == ".onnx":
            try:
                onnx.load(path)
            except Exception:
                return f"{what}\nhalf-written {path.name}: {traceback.format_exc()[-1000:]}"
    return ""


def main_of(family: str, seed: int, number: int) -> None:
    """One attack again, in this process, with its traceback."""
    with tempfile.TemporaryDirectory(prefix="fuzz_") as folder:
        print(tried(family, seed, number, Path(folder)) or "nothing went wrong", file=sys.stdout)
