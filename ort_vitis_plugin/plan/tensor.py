"""One tensor as it will be quantized: its part, its type, its scale and zero point, and what an error costs it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ..numerics.positions import position_of, scale_of
from ..numerics.quantize import along

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..numerics.qtypes import QType


class Role(Enum):
    """How a tensor takes part: data that flows, a constant operand, or a bias."""

    ACTIVATION = "activation"
    WEIGHT = "weight"
    BIAS = "bias"


class Curve(Protocol):
    """A tensor's squared error as a function of its position."""

    def best(self) -> int:
        """The position of least error; of equal ones the larger step."""
        ...

    def error(self, position: int) -> float:
        """Squared error at 2^-position over the tensor's energy."""
        ...

    def zero_point(self, position: int) -> int:
        """The zero point that goes with the position."""
        ...


@dataclass(frozen=True)
class Int32Bias:
    """The bias of ``node`` has scale x * w * beta, so that the accumulator takes it as it is."""

    node: str
    x: str
    w: str
    beta: float = 1.0


@dataclass
class Conversion:
    """Some consumers read the tensor in another type (mixed precision): their parameters and names.

    ``from_float`` gives them a pair that reads the float tensor, not what the other pair makes of it.
    """

    kind: QType
    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    receivers: frozenset[str] | None = None
    from_float: bool = False


@dataclass
class TensorPlan:
    """One tensor: its type and parameters. ``scale`` and ``zero_point`` are scalars, or [C] along ``axis``; with
    ``block_size`` they have the shape of the matrix, each for as many neighbours along ``axis``.

    Without ``states_zero_point`` the written codes are those of a zero point of 0 that is not stored. What
    ``has_codes`` came with its codes and a node that dequantizes them: nothing is written for it.
    """

    name: str
    role: Role
    kind: QType
    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    axis: int | None = None
    curve: Curve | None = None
    fixed: bool = False
    derived: Int32Bias | None = None
    conversion: Conversion | None = None
    states_zero_point: bool = True
    has_codes: bool = False
    block_size: int = 0

    def spread(self, shape: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Scale and zero point, shaped to broadcast to values of this shape."""
        scale, zero = self.scale, self.zero_point
        if self.block_size and self.axis is not None:
            rows = np.arange(shape[self.axis]) // self.block_size
            return scale.take(rows, self.axis), zero.take(rows, self.axis)
        return along(scale, len(shape), self.axis), along(zero, len(shape), self.axis)

    def converted_for(self, reader: str) -> TensorPlan | None:
        """The other type's parameters, where the node of that name reads the tensor in another type."""
        given = self.conversion
        if given is None or (given.receivers is not None and reader not in given.receivers):
            return None
        return TensorPlan(self.name, self.role, given.kind, given.scale, given.zero_point, fixed=True)

    def copy(self) -> TensorPlan:
        """A plan of its own, which can be moved; arrays and curve are shared."""
        twin = object.__new__(TensorPlan)
        twin.__dict__.update(self.__dict__)
        return twin

    @property
    def position(self) -> int | None:
        """p where integer codes have the scalar scale 2^-p, else None."""
        if not self.kind.is_integer or self.scale.ndim or self.derived is not None:
            return None
        return position_of(float(self.scale))

    def move(self, position: int) -> None:
        """Take step 2^-position and the zero point that goes with it."""
        self.scale = np.asarray(scale_of(position), dtype=np.float32)
        if self.curve is not None:
            self.zero_point = np.asarray(self.curve.zero_point(position), dtype=np.int64)
