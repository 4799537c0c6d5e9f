"""Either name of ONNX's domain states the opset; no other domain does, and the host reads it in one place."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import ModelProto, helper

from ort_vitis_plugin.graph.default_opset import default_opset

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("imports", "found"),
    [([], 1), ([("", 13)], 13), ([("ai.onnx", 17)], 17), ([("com.microsoft", 1), ("", 21)], 21), ([("my", 4)], 1)],
)
def test_the_default_domain_counts(imports: list[tuple[str, int]], found: int) -> None:
    model = ModelProto(opset_import=[helper.make_opsetid(*each) for each in imports])
    assert default_opset(model) == found


def test_a_model_that_states_none_may_be_told_apart() -> None:
    assert default_opset(ModelProto(), 0) == 0


def test_nobody_else_spells_the_two_names() -> None:
    files = [*(ROOT / "ort_vitis_plugin").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]
    spelled = [file.relative_to(ROOT).as_posix() for file in files if '"", "ai.onnx"' in file.read_text("utf-8")]
    assert spelled == ["ort_vitis_plugin/graph/nodes.py"]
