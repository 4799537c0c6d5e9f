"""Conversions between the forms of a quantized model; each is loaded when it is first asked for."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .qoperator import qdq_to_qoperator as qdq_to_qoperator

# No module may have the name of its function: the import system would put the module in the function's place.
_MODULES = {
    "qdq_to_qoperator": "qoperator",
}

__all__ = ["qdq_to_qoperator"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value
