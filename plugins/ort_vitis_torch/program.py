"""Steps run as a flat list of calls on numbered places; which tensor lies where is found out once."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor

from .step import Step

NOTHING = 0  # the place of an input that is left out


class Program:
    """What ``steps`` compute. ``inputs`` are names of tensors that a call brings, ``constants`` tensors that stay.

    ``needed`` are those of the inputs that some step reads, or that are outputs.
    """

    def __init__(
        self, steps: Sequence[Step], inputs: Iterable[str], outputs: Sequence[str], constants: Mapping[str, Tensor]
    ) -> None:
        read = {name for step in steps for name in step.inputs} | set(outputs)
        self.needed = [name for name in inputs if name in read]
        self._places = {"": NOTHING}
        for name in (*self.needed, *constants):
            self._place(name)
        last = {name: at for at, step in enumerate(steps) for name in (*step.inputs, *step.outputs)}
        stays = {"", *outputs, *constants}
        self._calls = [
            (
                step.function,
                tuple(self._place(name) for name in step.inputs),
                tuple(self._place(name) for name in step.outputs),
                tuple(
                    self._place(name)
                    for name in dict.fromkeys((*step.inputs, *step.outputs))
                    if self._ends(name, at, last, stays)
                ),
            )
            for at, step in enumerate(steps)
        ]
        self._start: list[Any] = [None] * len(self._places)
        for name, tensor in constants.items():
            self._start[self._places[name]] = tensor
        self._first = [self._places[name] for name in self.needed]
        self._results = [self._places[name] for name in outputs]

    def _place(self, name: str) -> int:
        return self._places.setdefault(name, len(self._places))

    @staticmethod
    def _ends(name: str, at: int, last: Mapping[str, int], stays: Collection[str]) -> bool:
        return last[name] == at and name not in stays

    def run(self, tensors: Iterable[Tensor]) -> list[Tensor]:
        """The outputs, where ``tensors`` are the needed inputs in their order."""
        values = self._start.copy()
        for place, tensor in zip(self._first, tensors, strict=True):
            values[place] = tensor
        for function, sources, targets, ended in self._calls:
            result = function(*[values[place] for place in sources])
            if len(targets) == 1:
                values[targets[0]] = result[0] if type(result) is tuple else result
            else:
                for place, each in zip(targets, result, strict=False):
                    values[place] = each
            for place in ended:
                values[place] = None
        return [values[place] for place in self._results]
