"""A quantized type knows its bits, its limits and the ONNX element type that stores it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from onnx import TensorProto

from ..errors import UnsupportedError, suggest


@dataclass(frozen=True)
class QType:
    """An integer or 16-bit float type; ``min`` and ``max`` are the limits that the runtime saturates to."""

    name: str
    element_type: int
    bits: int
    min: int
    max: int
    is_integer: bool = True

    @property
    def is_signed(self) -> bool:
        return self.min < 0

    @property
    def is_wide(self) -> bool:
        """Not representable in eight bits: the rules of 8-bit hardware do not apply."""
        return self.bits > 8

    def limits(self, *, reduce_range: bool = False) -> tuple[int, int]:
        """(qmin, qmax) that a quantizer may use; ``reduce_range`` gives up one bit."""
        if not reduce_range or not self.is_integer:
            return self.min, self.max
        return (self.min // 2, self.max // 2 + 1) if self.is_signed else (0, self.max // 2)

    def symmetric_zero_point(self) -> int:
        """Code that stands for 0 in a symmetric quantization: 0, or the middle of an unsigned range."""
        return 0 if self.is_signed or not self.is_integer else (self.max + 1) // 2

    def __str__(self) -> str:
        return self.name


def _integer(name: str, element_type: int, bits: int, *, signed: bool) -> QType:
    low = -(2 ** (bits - 1)) if signed else 0
    return QType(name, element_type, bits, low, low + 2**bits - 1)


_TYPES: dict[int, QType] = {
    qtype.element_type: qtype
    for qtype in (
        _integer("QInt4", TensorProto.INT4, 4, signed=True),
        _integer("QUInt4", TensorProto.UINT4, 4, signed=False),
        _integer("QInt8", TensorProto.INT8, 8, signed=True),
        _integer("QUInt8", TensorProto.UINT8, 8, signed=False),
        _integer("QInt16", TensorProto.INT16, 16, signed=True),
        _integer("QUInt16", TensorProto.UINT16, 16, signed=False),
        _integer("QInt32", TensorProto.INT32, 32, signed=True),
        _integer("QUInt32", TensorProto.UINT32, 32, signed=False),
        QType("QFloat16", TensorProto.FLOAT16, 16, -65504, 65504, is_integer=False),
        QType("QBFloat16", TensorProto.BFLOAT16, 16, -(2**128 - 2**120), 2**128 - 2**120, is_integer=False),
        QType("QFLOAT8E4M3FN", TensorProto.FLOAT8E4M3FN, 8, -448, 448, is_integer=False),
    )
}

INT8 = _TYPES[TensorProto.INT8]
INT32 = _TYPES[TensorProto.INT32]


def qtype(kind: object) -> QType:
    """The QType of a VitisQuantType, an onnxruntime QuantType, a QType, its name, or an ONNX element type."""
    if isinstance(kind, str):
        named = [known for known in _TYPES.values() if known.name == kind]
        kind = named[0] if named else kind
    if isinstance(kind, QType):
        return kind
    element_type = getattr(kind, "tensor_type", kind)
    if isinstance(element_type, int) and element_type in _TYPES:
        return _TYPES[element_type]
    names = [known.name for known in _TYPES.values()]
    raise UnsupportedError(
        f"{kind!r} is not a quantization type; use a member of QuantType or VitisQuantType ({', '.join(names)})"
    )


class _NamedEnum(Enum):
    """An enum whose members print as their names and can be read back from them."""

    def __str__(self) -> str:
        return self.name

    @classmethod
    def from_string(cls, name: str) -> _NamedEnum:
        try:
            return cls[name]
        except KeyError:
            known = [member.name for member in cls]
            raise ValueError(
                f"{name!r} is not a {cls.__name__} (one of {', '.join(known)}){suggest(name, known)}"
            ) from None


class VitisQuantType(_NamedEnum):
    """Types beyond eight bits, for ``VitisQuantFormat.QDQ``; values are those of vai_q_onnx."""

    QInt16 = 3
    QUInt16 = 4
    QInt32 = 5
    QUInt32 = 6
    QFloat16 = 7
    QBFloat16 = 8

    @property
    def tensor_type(self) -> int:
        """ONNX element type; the attribute under which onnxruntime reads its own QuantType."""
        return _VITIS_ELEMENT_TYPES[self.name]

    @property
    def element_type(self) -> int:
        return self.tensor_type

    @property
    def bits(self) -> int:
        return qtype(self).bits

    @property
    def min(self) -> int:
        return qtype(self).min

    @property
    def max(self) -> int:
        return qtype(self).max


_VITIS_ELEMENT_TYPES = {known.name: known.element_type for known in _TYPES.values()}


class VitisQuantFormat(_NamedEnum):
    """Formats of AMD's tools; values continue onnxruntime's QuantFormat."""

    QDQ = 2
    FixNeuron = 3


class PowerOfTwoMethod(_NamedEnum):
    """Calibration methods whose scales are powers of two, as the NPU's shifters need them."""

    NonOverflow = 0
    MinMSE = 1


def storage_dtype(kind: QType) -> np.dtype:
    """numpy dtype of an array of codes of this type (ml_dtypes for bfloat16 and below eight bits)."""
    from onnx.helper import tensor_dtype_to_np_dtype

    return np.dtype(tensor_dtype_to_np_dtype(kind.element_type))
