"""Processes that a script starts find the names of older packages too: Python imports this file at their start.

It stands before another sitecustomize, which it runs first.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path

_HERE = str(Path(__file__).resolve().parent)


def _run_the_other() -> None:
    spec = PathFinder.find_spec("sitecustomize", [entry for entry in sys.path if entry != _HERE])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


class _OnFirstUse(MetaPathFinder):
    """Installs the names when one of them is imported; until then a child costs nothing."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in ("vai_q_onnx", "quark"):
            return None
        sys.meta_path.remove(self)
        from ort_vitis_plugin import compat

        compat.install(*compat.served_packages())
        return find_spec(fullname)


_run_the_other()
sys.meta_path.insert(0, _OnFirstUse())
