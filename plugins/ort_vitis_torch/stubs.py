"""QuantStub and DeQuantStub begin and end a region that is quantized; to the values they do nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch
from torch import nn

from .errors import ExportError
from .structure import Structure

T = TypeVar("T")

DOMAIN = "ort_vitis_torch"
BEGIN, END = "QuantStub", "DeQuantStub"


def _is_captured() -> bool:
    """Whether the dynamo exporter follows the call; torch before 2.7 only tells whether something compiles it."""
    asks = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)
    return bool(asks())


class _Begin(torch.autograd.Function):
    """The identity that an exporter writes as a node."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return gradients[0]

    @staticmethod
    def symbolic(graph: Any, tensor: Any) -> Any:
        return graph.op(f"{DOMAIN}::{BEGIN}", tensor).setType(tensor.type())


class _End(_Begin):
    @staticmethod
    def symbolic(graph: Any, tensor: Any) -> Any:
        return graph.op(f"{DOMAIN}::{END}", tensor).setType(tensor.type())


class _Stub(nn.Module):
    _mark: type[_Begin]
    _name: str

    def forward(self, value: T) -> T:
        """``value``: a tensor, or a list, tuple or dict of tensors; it comes back as it is."""
        if _is_captured():
            return cast(T, self._marked(value, self._node))
        if torch.onnx.is_in_onnx_export():
            return cast(T, self._marked(value, self._mark.apply))
        return value

    def _marked(self, value: Any, mark: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        tensors, structure = Structure.of(value)
        return structure.fill([mark(tensor) for tensor in tensors])

    def _node(self, tensor: torch.Tensor) -> torch.Tensor:
        """The dynamo exporter's way to write a node; autograd functions are traced through there."""
        name = f"{DOMAIN}::{self._name}"
        marked: torch.Tensor = torch.onnx.ops.symbolic(
            name, (tensor,), dtype=tensor.dtype, shape=tensor.shape, version=1
        )
        return marked


class QuantStub(_Stub):
    """The quantized part begins here. One stub may be called several times, and a module may have several."""

    _mark, _name = _Begin, BEGIN


class DeQuantStub(_Stub):
    """The quantized part ends here."""

    _mark, _name = _End, END


def check_dynamo_writes_stubs(module: nn.Module) -> None:
    """Raises ExportError where the dynamo exporter of this torch would leave stubs out, and all would be quantized."""
    stubs = [part for part in module.modules() if isinstance(part, _Stub)]
    if stubs and not hasattr(torch.onnx, "ops"):
        raise ExportError(
            f'torch {torch.__version__} writes {type(stubs[0]).__name__} with exporter="torchscript" alone; '
            "the dynamo exporter does from torch 2.8 on"
        )
