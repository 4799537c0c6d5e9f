"""Arguments and results of a module are nested structures; a graph has flat lists of tensors."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch.utils import _pytree as pytree

from .errors import ExportError


class Record(NamedTuple):
    """A dataclass of the caller's: what it is made of, by name."""

    kind: Any
    values: dict[str, Any]


def _opened(value: Any) -> Any:
    """The structure with records in place of dataclasses, which torch takes for leaves."""

    def of_leaf(leaf: Any) -> Any:
        if not hasattr(type(leaf), "__dataclass_fields__"):  # what older tracers follow, unlike is_dataclass
            return leaf
        return Record(type(leaf), {each.name: _opened(getattr(leaf, each.name)) for each in fields(leaf) if each.init})

    return pytree.tree_map(of_leaf, value)


def _closed(value: Any) -> Any:
    def of_record(node: Any) -> Any:
        return node.kind(**_closed(node.values)) if isinstance(node, Record) else node

    return pytree.tree_map(of_record, value, is_leaf=lambda node: isinstance(node, Record))


@dataclass(frozen=True)
class Structure:
    """A nested structure whose tensors are taken out: ``others`` holds its other leaves by their place."""

    spec: Any
    others: dict[int, Any]

    @classmethod
    def of(cls, value: Any) -> tuple[list[torch.Tensor], Structure]:
        """The tensors of a structure, in order, and what puts others in their places."""
        leaves, spec = pytree.tree_flatten(_opened(value))
        others = {at: leaf for at, leaf in enumerate(leaves) if not isinstance(leaf, torch.Tensor)}
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)], cls(spec, others)

    def fill(self, tensors: Sequence[torch.Tensor]) -> Any:
        """The structure with these tensors in it."""
        rest = iter(tensors)
        count = len(self.others) + len(tensors)
        leaves = [self.others[at] if at in self.others else next(rest) for at in range(count)]
        return _closed(pytree.tree_unflatten(leaves, self.spec))


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


def positional(module: torch.nn.Module, arguments: tuple[Any, ...]) -> tuple[str, ...]:
    """The names of the parameters of ``forward`` that ``arguments`` are; fewer where it gathers several under one."""
    parameters = inspect.signature(module.forward).parameters.values()
    named = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    return tuple(named[: len(arguments)])


def as_array(tensor: torch.Tensor) -> NDArray[Any]:
    """A copy of a tensor's values as onnxruntime takes them: floats in float32."""
    tensor = tensor.detach().cpu()
    array: NDArray[Any] = (tensor.float() if tensor.is_floating_point() else tensor).numpy().copy()
    return array
