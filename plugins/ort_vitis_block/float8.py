"""Float8 has its own exponents: a scale moves what saturates above and what is subnormal below, and little else."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from ort_vitis_plugin.api import QType, QuantizedType, RangeMethod, Role, Scaling, UnsupportedError, round_to_float

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ort_vitis_plugin.api import Sketch, TensorFacts

E5M2 = QuantizedType(
    QType("QFLOAT8E5M2", TensorProto.FLOAT8E5M2, 8, -57344, 57344, Scaling.LINEAR),
    "Float8 of five bits of exponent and two of mantissa, with a scale for each tensor; it saturates at 57344.",
)

_STEPS = np.exp2(-np.arange(33) / 8)
"""Candidates, relative to the largest magnitude: down to a sixteenth of it, eight to an octave."""


def _kind(tensor: TensorFacts) -> QType:
    settings = tensor.configuration
    kind = settings.weight if tensor.role is Role.WEIGHT else settings.activation
    others = sorted((other for other in settings.kinds if other.scaling is Scaling.LINEAR), key=str)
    found = next(iter(others), kind) if kind.scaling is not Scaling.LINEAR else kind
    if found.scaling is not Scaling.LINEAR:
        raise UnsupportedError(
            f"the method Float8MSE chooses scales of float8, but {tensor.name} is {found}; use "
            "PowerOfTwoMethod.MinMSE or a CalibrationMethod"
        )
    return found


def _reach(values: NDArray[Any], counts: NDArray[Any], largest: float, kind: QType) -> float:
    """The r of least sum of count (x - s round(x / s))^2 with s = r / max; of equal ones the largest."""
    if not largest > 0:
        return 0.0
    errors = []
    for reach in largest * _STEPS:
        scale = np.asarray(reach / kind.max, np.float32)
        rounded = round_to_float(values, scale, kind).astype(np.float64) * scale.astype(np.float64)
        errors.append(float(np.sum(counts * (values - rounded) ** 2)))
    return float(largest * _STEPS[int(np.argmin(errors))])


def _of_samples(seen: Sketch, tensor: TensorFacts) -> tuple[float, float]:
    kind, view = _kind(tensor), seen.view
    reach = _reach(view.mean, view.n, seen.abs_max, kind)
    return -reach, reach


def _of_constant(values: NDArray[Any], tensor: TensorFacts) -> tuple[float, float]:
    flat = values.reshape(-1).astype(np.float64)
    reach = _reach(flat, np.ones(flat.shape), float(np.abs(flat).max()), _kind(tensor))
    return -reach, reach


FLOAT8_MSE = RangeMethod(
    "Float8MSE",
    "Float8: the scale of least squared error, from that of the largest magnitude down to a sixteenth of it.",
    _of_samples,
    choose_weight=_of_constant,
)
