"""Python that reads what a tensor holds cannot follow new data in a graph: here is seen where a forward does so.

Shapes are numbers in a plain call, so reading those is no such thing, and neither is reading parameters.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from .caller_line import caller_line

# What gives Python a number out of a tensor: item(), bool(), float(), and torch.equal; not tolist() and numpy(), which
# read memory.
READS = frozenset({"aten::_local_scalar_dense", "aten::equal"})


class DataReads(TorchDispatchMode):
    """Follows what is computed from ``tensors``; ``places`` are the lines that make Python numbers of it."""

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self.places: list[str] = []
        self._follows: Any = WeakIdKeyDictionary()
        self._mark(tensors)

    def _mark(self, leaves: Iterable[Any]) -> None:
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                self._follows[leaf] = True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        given = tree_leaves((args, dict(kwargs or {})))
        if any(isinstance(leaf, torch.Tensor) and leaf in self._follows for leaf in given):
            if func._schema.name in READS:
                self.places.append(caller_line())
            self._mark(tree_leaves(result))
        return result


def watched(module: nn.Module, arguments: tuple[Any, ...], tensors: Iterable[torch.Tensor]) -> tuple[Any, list[str]]:
    """What ``module`` gives, and where it reads the data of ``tensors``."""
    with torch.no_grad(), DataReads(tensors) as reads:
        result = module(*arguments)
    return result, reads.places
