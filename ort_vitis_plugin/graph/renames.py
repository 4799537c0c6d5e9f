"""A name that a caller wrote means what bore it then: the log of renames says what bears it now."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Rename = tuple[str, tuple[str, ...]]
NODE, TENSOR = "node", "tensor"


class Renames:
    """What nodes and tensors were called one after the other, in the order in which steps renamed them.

    A name may come to stand for several (a shared name parts, a branch takes the place of its If) or for none.
    """

    def __init__(self) -> None:
        self._log: list[tuple[str, Rename]] = []

    def __len__(self) -> int:
        return len(self._log)

    def node(self, old: str, *now: str) -> None:
        """What is said of the node ``old`` holds of the nodes ``now``."""
        self._log.append((NODE, (old, now)))

    def tensor(self, old: str, *now: str) -> None:
        """What is said of the tensor ``old`` holds of the tensors ``now``."""
        self._log.append((TENSOR, (old, now)))

    def nodes_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Today's names of the nodes that were called so at first, each once, in order."""
        return _followed(names, (rename for kind, rename in self._log if kind == NODE))

    def ends_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The same of names that may be a node's or a tensor's."""
        return _followed(names, (rename for _, rename in self._log))

    def __iter__(self) -> Iterator[tuple[str, Rename]]:
        return iter(self._log)


def replaced(names: Iterable[str], old: str, now: Iterable[str]) -> tuple[str, ...]:
    """The names, ``now`` in the place of ``old``, each once."""
    return tuple(dict.fromkeys(new for name in names for new in (now if name == old else (name,))))


def _followed(names: Iterable[str], log: Iterable[Rename]) -> tuple[str, ...]:
    listed = tuple(names)
    if not listed:
        return listed
    for old, now in log:
        if old in listed:
            listed = replaced(listed, old, now)
    return listed
