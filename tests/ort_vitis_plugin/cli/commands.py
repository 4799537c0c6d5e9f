"""Runs a command as its words, and looks at the folder that it worked in."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import onnx

from ort_vitis_plugin.cli.main import main


def run(line: str) -> int:
    return main(line.split())


def files(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def op_types(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node}
