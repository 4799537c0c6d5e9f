"""Arguments and results of a module are nested structures; a graph has flat lists of tensors."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch.utils import _pytree as pytree

from .errors import ExportError


@dataclass(frozen=True)
class Structure:
    """A nested structure whose tensors are taken out: ``others`` holds its other leaves by their place."""

    spec: Any
    others: dict[int, Any]

    @classmethod
    def of(cls, value: Any) -> tuple[list[torch.Tensor], Structure]:
        """The tensors of a structure, in order, and what puts others in their places."""
        leaves, spec = pytree.tree_flatten(value)
        others = {at: leaf for at, leaf in enumerate(leaves) if not isinstance(leaf, torch.Tensor)}
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)], cls(spec, others)

    def fill(self, tensors: Sequence[torch.Tensor]) -> Any:
        """The structure with these tensors in it."""
        rest = iter(tensors)
        count = len(self.others) + len(tensors)
        leaves = [self.others[at] if at in self.others else next(rest) for at in range(count)]
        return pytree.tree_unflatten(leaves, self.spec)


def as_arguments(input_args: Any) -> tuple[Any, ...]:
    """The arguments of a call: a tuple as it is, anything else as the only argument."""
    return input_args if type(input_args) is tuple else (input_args,)


def input_names(module: torch.nn.Module, arguments: tuple[Any, ...]) -> list[str]:
    """A graph input for every tensor in the arguments, named after the parameter of ``forward`` that holds it."""
    try:
        bound = inspect.signature(module.forward).bind(*arguments)
    except TypeError as error:
        raise ExportError(f"{type(module).__name__}.forward does not take the input_args given: {error}") from None
    names: list[str] = []
    for parameter, value in bound.arguments.items():
        tensors, _ = Structure.of(value)
        is_alone = isinstance(value, torch.Tensor)
        names += [parameter if is_alone else f"{parameter}_{at}" for at in range(len(tensors))]
    return names


def as_array(tensor: torch.Tensor) -> NDArray[Any]:
    """A copy of a tensor's values as onnxruntime takes them: floats in float32."""
    tensor = tensor.detach().cpu()
    array: NDArray[Any] = (tensor.float() if tensor.is_floating_point() else tensor).numpy().copy()
    return array
