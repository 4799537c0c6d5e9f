"""A model says of each input its name, its element type and its shape: what a sample must be turned into."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from ..errors import CalibrationError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

NUMBERS = "biufc"  # kinds of numpy's own numbers; those of ml_dtypes are left as they come


@dataclass(frozen=True)
class Input:
    """One input; ``dtype`` is None where it is not a tensor of numbers, ``shape`` where the rank is not stated.

    Dimensions that are not fixed are None.
    """

    name: str
    dtype: np.dtype[Any] | None = None
    shape: tuple[int | None, ...] | None = None

    @property
    def batch(self) -> int | None:
        """The fixed size of the first axis."""
        return self.shape[0] if self.shape else None

    def describe(self) -> str:
        """``float32 [1, 3, ?, ?]``."""
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.shape or ())
        return f"{self.dtype} [{dims}]"

    def lacks_batch(self, array: NDArray[Any]) -> bool:
        """Whether the array is one sample without the batch axis."""
        return self.shape is not None and array.ndim == len(self.shape) - 1

    def cast(self, array: NDArray[Any], where: str) -> NDArray[Any]:
        """The array in the input's type: the same kind of number, or integers that fit.

        Raises:
            CalibrationError: it is another kind of number.
        """
        if self.dtype is None or array.dtype == self.dtype or self.dtype.kind not in NUMBERS:
            return array
        both_integers = {array.dtype.kind, self.dtype.kind} <= {"i", "u"}
        if array.dtype.kind == self.dtype.kind == "f" or array.dtype.newbyteorder("=") == self.dtype:
            return array.astype(self.dtype)
        if both_integers and np.array_equal(array, cast := array.astype(self.dtype)):
            return cast
        hint = "say how with transform=, for example lambda x: x.astype('float32') / 255"
        if both_integers:
            hint = "its values do not fit"
        raise CalibrationError(f"{self.name!r} in {where} is {array.dtype}, but the model takes {self.dtype}; {hint}")


def inputs_of(model: ModelProto) -> dict[str, Input]:
    """The inputs that a sample feeds, in the model's order; constants that are listed as inputs are none."""
    constants = {tensor.name for tensor in model.graph.initializer}
    found = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        dtype: np.dtype[Any] | None = None
        shape: tuple[int | None, ...] | None = None
        if value.type.HasField("tensor_type"):
            declared = value.type.tensor_type
            if declared.elem_type not in (TensorProto.UNDEFINED, TensorProto.STRING):
                dtype = np.dtype(helper.tensor_dtype_to_np_dtype(declared.elem_type))
            if declared.HasField("shape"):
                shape = tuple(dim.dim_value if dim.dim_value > 0 else None for dim in declared.shape.dim)
        found[value.name] = Input(value.name, dtype, shape)
    return found
