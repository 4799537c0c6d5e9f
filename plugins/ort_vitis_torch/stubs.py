"""QuantStub and DeQuantStub begin and end a region that is quantized; to the values they do nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import nn

T = TypeVar("T")

DOMAIN = "ort_vitis_torch"
BEGIN, END = "QuantStub", "DeQuantStub"


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

    def forward(self, value: T) -> T:
        """``value``: a tensor, or a list, tuple or dict of tensors; it comes back as it is."""
        return self._marked(value) if torch.onnx.is_in_onnx_export() else value

    def _marked(self, value: Any) -> Any:
        from .structure import Structure

        tensors, structure = Structure.of(value)
        return structure.fill([self._mark.apply(tensor) for tensor in tensors])


class QuantStub(_Stub):
    """The quantized part begins here. One stub may be called several times, and a module may have several."""

    _mark = _Begin


class DeQuantStub(_Stub):
    """The quantized part ends here."""

    _mark = _End
