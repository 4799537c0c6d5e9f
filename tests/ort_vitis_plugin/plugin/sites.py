"""Plugins that fail, as files on the path."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ort_vitis_plugin.plugin.manager import Manager, new_manager

CONV = "h = Conv<pads = [1, 1, 1, 1]>(x, w, b)"


MODEL = f"t (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y) {{ {CONV} r = Relu(h) y = Add(r, x) }}"


HEADER = """
from ort_vitis_plugin.api import *
"""


DEVICE = """
@hookimpl
def vitis_declare():
    yield Target("board", "A board.", base="ipu_cnn")
"""


def install(folder: Path, source: str, name: str = "ort_vitis_mine") -> None:
    """A module and the dist-info that pip would write for it."""
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text(f"[ort_vitis_plugin]\nmine = {name}\n")


Quantize = Callable[..., Any]


def manager_of(site: Path, source: str) -> Manager:
    install(site, HEADER + source)
    return new_manager()


TYPOS = {
    "target": (
        '@adjuster("MineRule", ops=("Conv",), target="ipu_cn")\ndef rule(plan, node):\n    """R."""\n    yield\n',
        "target='ipu_cn' is no known target; did you mean ipu_cnn?",
    ),
    "base": ('rule = Target("other", "O.", base="ipu_cn")\n', "base='ipu_cn' is no known target"),
    "op type": (
        '@adjuster("MineRule", ops=("Convv",), target="board")\ndef rule(plan, node):\n    """R."""\n    yield\n',
        "'Convv' is no op type; did you mean Conv?",
    ),
    "case": (
        '@fusion("MinePair", producers=("CONV",), consumers=("Relu",))\ndef rule(g, a, b):\n    """R."""\n',
        "'CONV' is no op type; did you mean Conv?",
    ),
    "handled op type": ('rule = OpQuantizer("Gemmm", QDQOperatorBase)\n', "'Gemmm' is no op type; did you mean Gemm?"),
    "default": (
        'rule = Target("other", "O.", defaults={"ActivationSymetric": True})\n',
        "it sets 'ActivationSymetric', which is no option; did you mean ActivationSymmetric",
    ),
    "argument of a preset": (
        'rule = Preset("other", "O.", arguments={"quant_fromat": "QDQ"})\n',
        "it sets 'quant_fromat', which is no argument that a preset may set",
    ),
    "option of a preset": ('rule = Preset("other", "O.", recipe={"IncludCLE": True})\n', "did you mean IncludeCLE?"),
    "target of a preset": ('rule = Preset("other", "O.", recipe={"Target": "ipu_cn"})\n', "Target='ipu_cn'"),
    "order": (
        '@transform("MineStep", stage=Stage.PREPARE, target="board", before=("FoldBatchNrm",))\n'
        'def rule(g):\n    """R."""\n    return 0\n',
        "before names 'FoldBatchNrm', which is no step; did you mean FoldBatchNorm?",
    ),
    "order after what leaves nodes float": (
        '@leave_float("MineRule", stage=Stage.PREPARE, target="board", after=("FoldBatchNrm",))\n'
        'def rule(g, c):\n    """R."""\n    return StaysFloat()\n',
        "after names 'FoldBatchNrm', which is no step; did you mean FoldBatchNorm?",
    ),
    "switch": (
        '@adjuster("MineRule", ops=("Conv",), target="board", needs="IPULimitationChek")\n'
        'def rule(plan, node):\n    """R."""\n    yield\n',
        "option MineRule needs 'IPULimitationChek', which is no option; did you mean IPULimitationCheck",
    ),
}


DECLARED = '@hookimpl\ndef vitis_declare():\n    yield Target("board", "B.", base="ipu_cnn")\n    yield rule\n'
