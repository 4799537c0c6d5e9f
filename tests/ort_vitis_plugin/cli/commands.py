"""Runs a command as its words, here or in a process of its own, and looks at the folder that it worked in."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx

from ort_vitis_plugin.cli.main import main

ROOT = Path(__file__).resolve().parents[3]


def run(line: str) -> int:
    return main(line.split())


def files(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def op_types(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node}


def process(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=folder, env=known | environment
    )
