"""What the codes of a tensor stand for: its values, rounded as its parameters say."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..foreign import public
from ..numerics.qtypes import storage_dtype
from ..numerics.quantize import dequantize, quantize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .tensor import TensorPlan


@public
def fake_quantize(values: NDArray[Any], planned: TensorPlan) -> NDArray[np.float32]:
    """Values of a tensor, of any shape (with its channels along ``planned.axis``), as its codes stand for them.

    (clip(rint(x / scale) + zero point) - zero point) * scale; of a float type, rounded to it and back.
    """
    scale, zero = planned.spread(np.shape(values))
    if planned.kind.is_integer:
        return dequantize(quantize(values, scale, zero, planned.kind.limits()), scale, zero)
    ratio = np.clip(np.asarray(values, np.float32) / scale, planned.kind.min, planned.kind.max)
    return np.asarray(ratio.astype(storage_dtype(planned.kind)).astype(np.float32) * scale, np.float32)
