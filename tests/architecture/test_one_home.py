"""One home per fact: the sets of op types and of code types that the graph's room names stand nowhere else."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ort_vitis_plugin.graph import op_sets
from tests.architecture.trees import HOST, ROOT, files, parsed, shown

GRAPH = HOST / "graph"
NAMED = {value: name for name, value in vars(op_sets).items() if isinstance(value, frozenset)}

# Where order counts, or the list is a source's.
ELSEWHERE = {
    "ort_vitis_plugin/trials/candidates.py": "in the order in which they are tried",
    "plugins/ort_vitis_block/presets.py": "in the order in which a preset states them",
    "plugins/ort_vitis_ipu/fuse/conv_relu.py": "what the device fuses, as its source lists it",
}


def written_again(file: Path) -> Iterator[str]:
    """The named sets of op types that a file spells out."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)) and len(node.elts) > 1:
            values = frozenset(each.value for each in node.elts if isinstance(each, ast.Constant))
            if values in NAMED and len(values) == len(node.elts):
                yield f"{NAMED[values]} at line {node.lineno}"


def test_no_set_of_op_types_is_written_twice() -> None:
    found = {shown(file): [*written_again(file)] for file in files() if file.parent != GRAPH}
    assert {file: sets for file, sets in found.items() if sets and file not in ELSEWHERE} == {}


def test_an_entry_is_a_file_that_needs_it() -> None:
    assert [file for file in ELSEWHERE if not [*written_again(ROOT / file)]] == []


def test_a_set_that_is_written_again_is_found(tmp_path: Path) -> None:
    file = tmp_path / "new.py"
    file.write_text('A = ("Clip", "Relu")\nB = {"Clip"}\nC = frozenset({"Relu", "Clip"})\n', encoding="utf-8")
    assert [*written_again(file)] == ["CLAMP_OPS at line 1", "CLAMP_OPS at line 3"]


def test_code_types_have_one_home() -> None:
    """Outside the room that names them nobody pairs the signed and the unsigned type of 8 or 16 bits."""
    pairs = {frozenset({f"TensorProto.{sign}INT{bits}" for sign in ("", "U")}) for bits in (8, 16)}
    twice = [
        f"{shown(file)}:{node.lineno}"
        for file in files()
        if file != GRAPH / "element_types.py"
        for node in ast.walk(parsed(file))
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)) and len(node.elts) == 2
        if frozenset(map(ast.unparse, node.elts)) in pairs
    ]
    assert twice == []
