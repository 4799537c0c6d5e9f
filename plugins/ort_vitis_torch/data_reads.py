"""Python that reads what a tensor holds cannot follow new data in a graph: here is seen where a forward does so.

Shapes are numbers in a plain call, so reading those is no such thing, and neither is reading parameters.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from .caller_line import caller_line

# What gives Python a number out of a tensor: item(), bool(), float(), and torch.equal.
READS = frozenset({"aten::_local_scalar_dense", "aten::equal"})

# What reads memory, which the dispatcher does not see.
MEMORY_READS = frozenset({torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.__dlpack__})


class DataReads(TorchDispatchMode):
    """Follows what is computed from ``tensors``; ``places`` are the lines that make Python values of it."""

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self.places: list[str] = []
        self._follows: Any = WeakIdKeyDictionary()
        self._mark(tensors)

    def _mark(self, leaves: Iterable[Any]) -> None:
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                self._follows[leaf] = True

    def follows(self, arguments: Any) -> bool:
        """Whether one of these, or what they hold, is computed from the data."""
        return any(isinstance(leaf, torch.Tensor) and leaf in self._follows for leaf in tree_leaves(arguments))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.follows((args, dict(kwargs or {}))):
            if func._schema.name in READS:
                self.places.append(caller_line())
            self._mark(tree_leaves(result))
        return result


class _MemoryReads(TorchFunctionMode):
    """Sees what the dispatcher does not."""

    def __init__(self, reads: DataReads) -> None:
        super().__init__()
        self._reads = reads

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in MEMORY_READS and self._reads.follows(args):
            self._reads.places.append(caller_line())
        return func(*args, **(kwargs or {}))


def watched(module: nn.Module, arguments: tuple[Any, ...], tensors: Iterable[torch.Tensor]) -> tuple[Any, list[str]]:
    """What ``module`` gives, and where it reads the data of ``tensors``."""
    with torch.no_grad(), DataReads(tensors) as reads, _MemoryReads(reads):
        result = module(*arguments)
    return result, reads.places
