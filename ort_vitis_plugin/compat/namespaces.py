"""vai_q_onnx is this package under another name; the names of other packages come from plugins."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..plugin.declarations import Namespace

if TYPE_CHECKING:
    from collections.abc import Mapping

KEPT = ("__all__", "__dir__", "__doc__", "__getattr__", "__version__")


def _ours(module: str) -> Mapping[str, object]:
    names = vars(import_module(__package__.rpartition(".")[0]))
    return {name: value for name, value in names.items() if name in KEPT or not name.startswith("__")}


VAI_Q_ONNX = Namespace(("vai_q_onnx",), "AMD's earlier quantizer, whose signature quantize_static here has.", _ours)
