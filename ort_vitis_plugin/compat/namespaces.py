"""vai_q_onnx is this package under another name, quark.onnx nearly so; other packages' names come from plugins."""
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


def _quark(module: str) -> Mapping[str, object]:
    from ..numerics.qtypes import VitisQuantFormat, VitisQuantType
    from .quark_names import QUARK

    names = {**QUARK, "ExtendedQuantFormat": VitisQuantFormat, "ExtendedQuantType": VitisQuantType}
    ours = _ours(module)
    listed = ours["__all__"]
    assert isinstance(listed, list)
    return {**ours, **names, "__all__": sorted({*listed, *names})}


VAI_Q_ONNX = Namespace(("vai_q_onnx",), "AMD's earlier quantizer, whose signature quantize_static here has.", _ours)
# Whatever its modules hold, each of these has it.
QUARK_ONNX = Namespace(
    (
        "quark.onnx",
        "quark.onnx.calibrate",
        "quark.onnx.quant_utils",
        "quark.onnx.quantization.api",
        "quark.onnx.quantization.config",
        "quark.onnx.quantization.config.config",
        "quark.onnx.quantization.config.custom_config",
    ),
    "AMD Quark's quantizer of ONNX models: its presets, configurations and calls, as far as they are here.",
    _quark,
)
