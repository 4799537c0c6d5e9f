"""The names of the original package: ``ort_vitis_plugin.compat.install("pytorch_nndct")`` lets old scripts run."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from ort_vitis_plugin.api import Namespace

from .errors import RefusedError

OLD = "pytorch_nndct"

# {module of the original: {name in it: "module:name" of this package}}
NAMES: Mapping[str, Mapping[str, str]] = {
    OLD: {"QatProcessor": "qat:QatProcessor", "Inspector": "inspector:Inspector"},
    f"{OLD}.apis": {
        "Inspector": "inspector:Inspector",
        "dump_xmodel": "compat:dump_xmodel",
        "load_vai_ops": "compat:load_vai_ops",
        "torch_quantizer": "quantizer:torch_quantizer",
    },
    f"{OLD}.nn": {"DeQuantStub": "stubs:DeQuantStub", "QuantStub": "stubs:QuantStub"},
    f"{OLD}.nn.modules": {},
    f"{OLD}.nn.modules.functional": {},
    f"{OLD}.utils": {"register_custom_op": "compat:register_custom_op"},
}


def provide(module: str) -> Mapping[str, object]:
    """What a module of the original holds, by name."""
    found: dict[str, object] = {}
    for name, home in NAMES[module].items():
        package, _, attribute = home.partition(":")
        found[name] = getattr(importlib.import_module(f".{package}", __package__), attribute)
    if module.endswith(".functional"):
        functional = importlib.import_module(".functional", __package__)
        found |= {name: getattr(functional, name) for name in functional.__all__}
    return found


PYTORCH_NNDCT = Namespace(tuple(NAMES), "The PyTorch quantizer of Vitis AI, by its own names; needs torch.", provide)


def dump_xmodel(*arguments: Any, **keywords: Any) -> None:
    """Refused: there is no XIR here."""
    raise RefusedError("dump_xmodel needs XIR, which is not used here: use quantizer.export_onnx_model()")


def load_vai_ops(*arguments: Any, **keywords: Any) -> None:
    """Refused: files hold ONNX's own operators."""
    raise RefusedError("load_vai_ops is not needed: exported files hold ONNX's own operators; leave the call out")


def register_custom_op(op_type: str, attrs_list: Any = None) -> None:
    """Refused: an operator is registered with what computes it."""
    raise RefusedError(f"register_custom_op({op_type!r}): use ort_vitis_torch.operator({op_type!r}, domain=...)")
