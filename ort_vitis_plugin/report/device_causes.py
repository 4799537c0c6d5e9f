"""Many nodes stay away from a device for one cause, and an open size is one that the caller can take away."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Shapes = Mapping[str, Sequence[int | str | None]]

# How the target's forecast begins where a size is not known before the model runs.
OPEN = ("dynamic shape", "the shape of ")
# What a paste gives where the model does not say: batch, channels and sides of a picture.
BATCH, CHANNELS, SIDE = 1, 3, 224


@dataclass(frozen=True)
class Cause:
    """Nodes that stay away for one reason; ``remedy`` is what to add to the command line, or empty."""

    nodes: tuple[str, ...]
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        count = f"{len(self.nodes)} node{'s' if len(self.nodes) != 1 else ''}"
        return f"{count}: {self.what}{f'; add {self.remedy}' if self.remedy else ''}"


def causes(placement: Mapping[str, str], open_shapes: Shapes) -> list[Cause]:
    """The reasons of ``placement`` {node: why not}, those of the most nodes first.

    ``open_shapes`` are the inputs with sizes that are not fixed: they make the shapes behind them dynamic.
    """
    grouped: dict[str, list[str]] = {}
    for node, reason in placement.items():
        grouped.setdefault("" if reason.startswith(OPEN) else reason, []).append(node)
    found = [
        Cause(tuple(nodes), reason) if reason else _dynamic(tuple(nodes), open_shapes)
        for reason, nodes in grouped.items()
    ]
    return sorted(found, key=lambda cause: -len(cause.nodes))


def _dynamic(nodes: tuple[str, ...], open_shapes: Shapes) -> Cause:
    if not open_shapes:
        return Cause(nodes, "shapes that depend on the data")
    names = dict.fromkeys(
        dim if isinstance(dim, str) else f"{name}[{axis}]"
        for name, shape in open_shapes.items()
        for axis, dim in enumerate(shape)
        if not isinstance(dim, int)
    )
    return Cause(nodes, f"dynamic {', '.join(names)}", remedy(open_shapes))


def remedy(open_shapes: Shapes) -> str:
    """The flags, quoted for a shell, that fix every open size; what lies beyond the batch is to be what is run."""
    dims: dict[str, int] = {}
    shapes = []
    guessed = False
    for name, shape in open_shapes.items():
        sizes = [dim if isinstance(dim, int) else _guess(axis, len(shape)) for axis, dim in enumerate(shape)]
        guessed |= any(axis and not isinstance(dim, int) for axis, dim in enumerate(shape))
        if any(dim is None for dim in shape):
            shapes.append(shlex.quote(f"{name}={','.join(map(str, sizes))}"))
        else:
            for dim, size in zip(shape, sizes, strict=True):
                if isinstance(dim, str):
                    dims.setdefault(dim, size)
    # A whole shape fixes its named dimensions too, wherever they occur.
    covered = {dim for shape in open_shapes.values() if None in shape for dim in shape if isinstance(dim, str)}
    parts = [f"--fix-shape {' '.join(shapes)}"] if shapes else []
    left = [shlex.quote(f"{dim}={size}") for dim, size in dims.items() if dim not in covered]
    parts += [f"--fix-dim {' '.join(left)}"] if left else []
    return " ".join(parts) + (" (with the sizes that you run)" if guessed else "")


def _guess(axis: int, rank: int) -> int:
    if axis == 0:
        return BATCH
    if rank == 4:
        return CHANNELS if axis == 1 else SIDE
    return BATCH
