"""The names of the original package, on request: ``install()`` lets ``from pytorch_nndct.apis import ...`` work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from .errors import RefusedError

OLD = "pytorch_nndct"

# {module of the original: {name in it: "module:name" of this package}}
NAMES: Mapping[str, Mapping[str, str]] = {
    OLD: {"QatProcessor": "qat:QatProcessor", "Inspector": "inspector:Inspector", "nn": "", "apis": "", "utils": ""},
    f"{OLD}.apis": {
        "Inspector": "inspector:Inspector",
        "dump_xmodel": "compat:dump_xmodel",
        "load_vai_ops": "compat:load_vai_ops",
        "torch_quantizer": "quantizer:torch_quantizer",
    },
    f"{OLD}.nn": {"DeQuantStub": "stubs:DeQuantStub", "QuantStub": "stubs:QuantStub", "modules": ""},
    f"{OLD}.nn.modules": {"functional": ""},
    f"{OLD}.nn.modules.functional": {},
    f"{OLD}.utils": {"register_custom_op": "compat:register_custom_op"},
}


def install(name: str = OLD) -> None:
    """Make the original's modules importable in this process; a package of that name that is there stays."""
    if name != OLD:
        raise RefusedError(f"{name} is not a package whose names are known here; {OLD} is")
    for module in NAMES:
        if module not in sys.modules:
            sys.modules[module] = old_module(module)
    for module in NAMES:
        parent, _, last = module.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, sys.modules[module])


def old_module(module: str) -> ModuleType:
    """A module of the original, filled with what stands for its names."""
    made = ModuleType(module, f"{module}, as ort_vitis_torch answers it.")
    if any(other.startswith(f"{module}.") for other in NAMES):
        made.__path__ = []
    for name, home in NAMES[module].items():
        if home:
            package, _, attribute = home.partition(":")
            setattr(made, name, getattr(importlib.import_module(f".{package}", __package__), attribute))
    if module.endswith(".functional"):
        functional = importlib.import_module(".functional", __package__)
        for name in functional.__all__:
            setattr(made, name, getattr(functional, name))
    return made


def dump_xmodel(*arguments: Any, **keywords: Any) -> None:
    """Refused: there is no XIR here."""
    raise RefusedError("dump_xmodel needs XIR, which is not used here: use quantizer.export_onnx_model()")


def load_vai_ops(*arguments: Any, **keywords: Any) -> None:
    """Refused: files hold ONNX's own operators."""
    raise RefusedError("load_vai_ops is not needed: exported files hold ONNX's own operators; leave the call out")


def register_custom_op(op_type: str, attrs_list: Any = None) -> None:
    """Refused: an operator is registered with what computes it."""
    raise RefusedError(f"register_custom_op({op_type!r}): use ort_vitis_torch.operator({op_type!r}, domain=...)")
