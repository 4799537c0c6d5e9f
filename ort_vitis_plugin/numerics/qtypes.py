"""A quantized type knows its bits, its limits and the ONNX element type that stores it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache

import numpy as np
from onnx import TensorProto

from ..errors import UnsupportedError, suggest


class Scaling(Enum):
    """How real values become codes of a type, and so which parameters are stored beside them."""

    AFFINE = "x / scale + zero_point, rounded to an integer"
    LINEAR = "x / scale, rounded to a float of few bits: the largest magnitude lands on the type's largest"
    UNIT = "x itself, rounded to a float whose exponent has range enough: the scale is 1"
    NONE = "the codes carry their own exponents: there is neither scale nor zero point"


@dataclass(frozen=True)
class QType:
    """A type of codes; ``min`` and ``max`` are the limits that the runtime saturates to.

    ``element_type`` is the ONNX type of what is written: of codes, or of the values where codes have no tensor of
    their own. ``scaling`` says which parameters go with the codes.
    """

    name: str
    element_type: int
    bits: int
    min: int
    max: int
    scaling: Scaling = Scaling.AFFINE

    @property
    def tensor_type(self) -> int:
        """ONNX element type; the attribute under which onnxruntime reads its own QuantType."""
        return self.element_type

    @property
    def is_integer(self) -> bool:
        """Whether codes are integers with a scale and a zero point; only these have a position."""
        return self.scaling is Scaling.AFFINE

    @property
    def has_parameters(self) -> bool:
        """Whether a scale goes with the codes that follows from the values."""
        return self.scaling in (Scaling.AFFINE, Scaling.LINEAR)

    @property
    def is_signed(self) -> bool:
        return self.min < 0

    @property
    def is_wide(self) -> bool:
        """Beyond eight bits: near its best position a sketch alone cannot tell one from the next."""
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

    def __hash__(self) -> int:
        return hash(self.name)


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
        QType("QFloat16", TensorProto.FLOAT16, 16, -65504, 65504, Scaling.UNIT),
        QType("QBFloat16", TensorProto.BFLOAT16, 16, -(2**128 - 2**120), 2**128 - 2**120, Scaling.UNIT),
        QType("QFLOAT8E4M3FN", TensorProto.FLOAT8E4M3FN, 8, -448, 448, Scaling.LINEAR),
    )
}

_NAMED = {known.name: known for known in _TYPES.values()}

BUILT_IN = frozenset(_NAMED)

INT8 = _TYPES[TensorProto.INT8]
INT32 = _TYPES[TensorProto.INT32]


def type_name(kind: object) -> str:
    """The name by which a type is asked for: a text itself, the name of an enum's member or of a QType, else ''."""
    return kind if isinstance(kind, str) else str(getattr(kind, "name", ""))


def stored_qtype(element_type: int) -> QType | None:
    """The host's type of codes that are stored in an ONNX element type; None for other element types."""
    return _TYPES.get(element_type)


def host_qtype(kind: object, others: Iterable[str] = ()) -> QType:
    """The QType of a VitisQuantType, an onnxruntime QuantType, a QType, its name, or an ONNX element type.

    Raises UnsupportedError for what is none, and names those that are known; ``others`` are names beyond the host's.
    """
    if isinstance(kind, QType):
        return kind
    if isinstance(kind, int) and kind in _TYPES:
        return _TYPES[kind]
    named = _NAMED.get(type_name(kind))
    if named is not None:
        return named
    stands_for = None if isinstance(kind, VitisQuantType) else getattr(kind, "tensor_type", None)
    if isinstance(stands_for, int) and stands_for in _TYPES:
        return _TYPES[stands_for]
    names = [*_NAMED, *others]
    if isinstance(kind, VitisQuantType):
        raise UnsupportedError(f"{kind!r} is a type that no plugin here declares; declared are {', '.join(names)}")
    raise UnsupportedError(
        f"{kind!r} is not a quantization type; use a member of QuantType or VitisQuantType ({', '.join(names)})"
        f"{suggest(type_name(kind), names)}"
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
    """Types of AMD's tools, by their names there; up to 8 values are those of vai_q_onnx.

    The first six are the host's, for ``VitisQuantFormat.QDQ``. Each other is a QuantizedType that a plugin declares.
    """

    QInt16 = 3
    QUInt16 = 4
    QInt32 = 5
    QUInt32 = 6
    QFloat16 = 7
    QBFloat16 = 8
    QBFP16 = 9
    QBFP = 9
    QMX9 = 10
    QMX6 = 11
    QMX4 = 12
    QMXINT8 = 13
    QMXFP8E4M3 = 14
    QMXFP8E5M2 = 15
    QMXFP6E3M2 = 16
    QMXFP6E2M3 = 17
    QMXFP4 = 18

    @property
    def is_built_in(self) -> bool:
        """Whether the host itself has the type."""
        return self.name in _NAMED

    @property
    def tensor_type(self) -> int:
        """ONNX element type; the attribute under which onnxruntime reads its own QuantType."""
        return host_qtype(self).element_type

    @property
    def element_type(self) -> int:
        return self.tensor_type

    @property
    def bits(self) -> int:
        return host_qtype(self).bits

    @property
    def min(self) -> int:
        return host_qtype(self).min

    @property
    def max(self) -> int:
        return host_qtype(self).max


class VitisQuantFormat(_NamedEnum):
    """Formats of AMD's tools; values continue onnxruntime's QuantFormat."""

    QDQ = 2
    FixNeuron = 3
    BFPFixNeuron = 4
    MXFixNeuron = 5


class PowerOfTwoMethod(_NamedEnum):
    """Calibration methods whose scales are powers of two, as the NPU's shifters need them."""

    NonOverflow = 0
    MinMSE = 1


# What onnx stores without numpy's help; before onnx 1.19 its own table calls all of them float32 or int8.
_SMALL: dict[int, str] = {
    TensorProto.INT4: "int4",
    TensorProto.UINT4: "uint4",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.FLOAT8E4M3FN: "float8_e4m3fn",
}


@cache
def storage_dtype(kind: QType) -> np.dtype:
    """numpy dtype of an array of codes of this type (ml_dtypes for bfloat16 and below eight bits)."""
    import ml_dtypes
    from onnx.helper import tensor_dtype_to_np_dtype

    small = _SMALL.get(kind.element_type)
    return np.dtype(tensor_dtype_to_np_dtype(kind.element_type) if small is None else getattr(ml_dtypes, small))
