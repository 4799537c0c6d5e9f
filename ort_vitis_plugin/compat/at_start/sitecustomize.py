"""Python runs the sitecustomize on its path before anything else: a client has us imported wherever it starts Python.

``ort-vitis run`` puts this folder first on PYTHONPATH, which processes inherit. Whoever wants onnxruntime imports it,
and we follow right behind its quantization package; names of older packages are there from the start.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

HERE = str(Path(__file__).resolve().parent)
WATCHED = "onnxruntime.quantization"


class Behind(MetaPathFinder, Loader):
    """Imports us once the watched package is there."""

    def __init__(self) -> None:
        self.loader: Loader | None = None

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != WATCHED:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        assert self.loader is not None
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert self.loader is not None
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        import ort_vitis_plugin  # noqa: F401 - importing attaches


def _run_the_next_one() -> None:
    """The sitecustomize that this one hides."""
    spec = PathFinder.find_spec("sitecustomize", [entry for entry in sys.path if entry != HERE])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


sys.meta_path.insert(0, Behind())
_run_the_next_one()
if names := os.environ.get("ORT_VITIS_NAMES"):
    from ort_vitis_plugin.compat import install

    install(*names.split(","))
