"""A constant has one scale, or one per channel; what the caller states of its channels goes before the options."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..numerics.qtypes import Scaling
from ..options.ort_options import OrtOptions
from ..plan import Role, TensorPlan
from ..plan.affine import in_blocks
from .tensor_parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..numerics.qtypes import QType
    from ..plan.marks import Override
    from ..request.call import Call
    from .tensor_parameters import TensorParameters


class Constants:
    """Plans weights, constant operands, and biases that have parameters of their own."""

    def __init__(self, parameters: TensorParameters, settings: Call) -> None:
        self.parameters, self.settings, self.options = parameters, settings, settings.options

    def of(self, name: str, role: Role, default: QType, axis: int | None = None) -> TensorPlan:
        """The constant, in the type that the caller states or ``default``; ``axis`` is that of its channels, if any.

        Raises OptionError where the caller states channels that the constant does not have.
        """
        stated = self.parameters.overrides(name)
        array = self.parameters.finite(name)
        kind = self.parameters.kind(stated[0], default)
        axis = stated[0].get("axis", axis)
        by_default = self._is_symmetric(role, kind, stated[0], per_channel=axis is not None)
        symmetric = bool(stated[0].get("symmetric", by_default))
        if role is Role.WEIGHT and self._has_blocks(name, array, kind, stated[0]):
            return self._in_blocks(name, array, kind, 0 if axis is None else axis % array.ndim, symmetric=symmetric)
        if axis is None or not array.ndim or kind.scaling is Scaling.NONE:
            importance = self._importance(name, role, stated)

            def one() -> TensorPlan:
                planned = self.parameters.of(name, role, kind, None, symmetric, stated[0], array, importance)
                return self._narrowed(planned, array, importance)

            return self.parameters.once((name, role, kind, symmetric, importance is None), one)
        check_channels(name, array.shape, stated)
        importance = self._importance(name, role, stated)
        at = axis % array.ndim

        def each() -> TensorPlan:
            return self._per_channel(name, role, kind, array, at, stated, importance, symmetric=symmetric)

        return self.parameters.once((name, role, kind, symmetric, importance is None, at), each)

    def _has_blocks(self, name: str, array: NDArray[Any], kind: QType, stated: Override) -> bool:
        asked = bool(self.options[OrtOptions].block_size) and kind.is_integer and not PARAMETERS & stated.keys()
        if asked and array.ndim != 2:
            self.settings.note(f"BlockSize: {name} of shape {list(array.shape)} has no blocks; only matrices have")
        return asked and array.ndim == 2

    def _in_blocks(self, name: str, array: NDArray[Any], kind: QType, axis: int, *, symmetric: bool) -> TensorPlan:
        size = self.options[OrtOptions].block_size
        given = in_blocks(array, kind, axis, size, symmetric=symmetric)
        return TensorPlan(name, Role.WEIGHT, kind, given.scale, given.zero_point, axis, fixed=True, block_size=size)

    def _per_channel(
        self,
        name: str,
        role: Role,
        kind: QType,
        array: NDArray[Any],
        axis: int,
        stated: Sequence[Override],
        importance: NDArray[np.float32] | None,
        *,
        symmetric: bool,
    ) -> TensorPlan:
        channels = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
        shares = [None] * len(channels) if importance is None else _by_channel(importance, axis)
        found = [
            self.parameters.of(name, role, kind, None, symmetric, stated[min(number, len(stated) - 1)], channel, share)
            for number, (channel, share) in enumerate(zip(channels, shares, strict=True))
        ]
        scale = np.array([channel.scale for channel in found], dtype=np.float32)
        zero = np.array([channel.zero_point for channel in found], dtype=np.int64)
        # onnxruntime's kernels of stacked matrices take a list of scales, but no list of zero points.
        is_stack = array.ndim > 2 and axis == array.ndim - 1 and kind.is_signed and not zero.any()
        planned = TensorPlan(name, role, kind, scale, zero, axis, fixed=True, states_zero_point=not is_stack)
        return self._narrowed(planned, array, importance)

    def _importance(self, name: str, role: Role, stated: Sequence[Override]) -> NDArray[np.float32] | None:
        """What each element of a weight counts; None where the caller states its range."""
        states_range = any(PARAMETERS & override.keys() for override in stated)
        if role is not Role.WEIGHT or states_range or not self.parameters.follows_energy:
            return None
        return self.parameters.energies.importance(name)

    def _narrowed(self, planned: TensorPlan, array: NDArray[Any], importance: NDArray[np.float32] | None) -> TensorPlan:
        if importance is not None:
            self.parameters.narrow(planned, array, importance)
        return planned

    def _is_symmetric(self, role: Role, kind: QType, stated: Override, *, per_channel: bool) -> bool:
        """Channels always, unless the caller states it of this very tensor: kernels want one zero point for all.

        A range that the caller states for unsigned codes goes before a default that would double it.
        """
        asked = self.options[OrtOptions]
        if role is Role.BIAS or per_channel:
            return True
        if role is Role.ACTIVATION:
            return bool(asked.activation_symmetric)
        states_range = not {"rmin", "rmax"}.isdisjoint(stated)
        if asked.weight_symmetric is None or (states_range and not self.options.given("WeightSymmetric")):
            return kind.is_signed
        return bool(asked.weight_symmetric)


def _by_channel(importance: NDArray[np.float32], axis: int) -> list[NDArray[np.float32] | None]:
    """Rows along an axis; of a channel that nothing depends on all elements count alike."""
    rows = np.moveaxis(importance, axis, 0).reshape(importance.shape[axis], -1)
    return [row if row.any() else np.ones_like(row) for row in rows]


def check_channels(name: str, shape: Sequence[int], stated: Sequence[Override]) -> None:
    """Refuse an axis, or a number of channels, that a tensor of this shape does not have.

    Raises:
        OptionError: the overrides name another axis, or another number of channels, than the tensor has.
    """
    axis = stated[0].get("axis") if stated else None
    if axis is None:
        return
    where = f"TensorQuantOverrides[{name!r}]"
    if not -len(shape) <= axis < len(shape):
        raise OptionError(f"{where} names the axis {axis}, which a tensor of shape {list(shape)} does not have")
    if len(stated) not in (1, shape[axis]):
        raise OptionError(
            f"{where} speaks of {len(stated)} channels; along the axis {axis} the tensor has {shape[axis]}: "
            "state one entry for all, or one for each"
        )
