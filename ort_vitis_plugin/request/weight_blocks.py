"""Weights alone may be stored in few bits, each block of a column with a scale of its own; data stay as they are."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from ..errors import OptionError, OptionTypeError, suggest
from ..numerics.qtypes import host_qtype

if TYPE_CHECKING:
    from ..numerics.qtypes import QType

OPTION = "WeightOnly"
BITS_OF = "WeightOnly's bits_of"
MAT_MUL_NBITS, QDQ = "MatMulNBits", "QDQ"
BITS = (4, 8)
LEAST_BLOCK = 16


@dataclass(frozen=True)
class WeightBlocks:
    """How weights are stored: ``block`` neighbours along the sum share a scale (and a zero point unless symmetric).

    ``scale`` is "max" (no value is clipped) or "mse" (of least squared error); ``format`` is "MatMulNBits"
    (onnxruntime's operators, written by its own tool) or "QDQ" (a DequantizeLinear with block_size, opset 21).
    ``bits_of`` gives nodes other bits, by name, pattern or op type, as MixedTypes names them.
    """

    bits: int = 4
    block: int = 32
    symmetric: bool = True
    scale: str = "max"
    format: str = MAT_MUL_NBITS
    accuracy_level: int | None = None
    bits_of: Mapping[str, int] = field(default_factory=dict)

    def of_bits(self, bits: int) -> WeightBlocks:
        """The same with other bits, for all nodes."""
        return replace(self, bits=bits, bits_of={})

    @property
    def kind(self) -> QType:
        return host_qtype(f"Q{'' if self.symmetric else 'U'}Int{self.bits}")

    def __str__(self) -> str:
        return f"{self.kind} in blocks of {self.block}"


def weight_blocks(stated: Mapping[str, object] | None) -> WeightBlocks | None:
    """What WeightOnly asks for; None where it is not given.

    Raises:
        OptionTypeError: it is no mapping.
        OptionError: an entry is unknown, or has a value that no operator takes.
    """
    if not stated:
        return None
    if not isinstance(stated, Mapping):
        raise OptionTypeError(f"{OPTION} takes a mapping such as {{'bits': 4, 'block': 32}}, not {stated!r}")
    known = [entry.name for entry in fields(WeightBlocks)]
    for key in stated:
        if key not in known:
            raise OptionError(f"{OPTION} has no entry {key!r}; it has {', '.join(known)}{suggest(str(key), known)}")
    given = dict(stated)
    if given.get("scale") == "mse":
        given.setdefault("format", QDQ)
    found = WeightBlocks(**given)  # type: ignore[arg-type]
    for problem in _problems(found):
        raise OptionError(f"{OPTION}: {problem}")
    return found


def _problems(asked: WeightBlocks) -> list[str]:
    found = []
    if asked.bits not in BITS:
        found.append(f"bits is {asked.bits!r}; it must be {' or '.join(map(str, BITS))}")
    if not isinstance(asked.bits_of, Mapping):
        found.append(f"bits_of is {asked.bits_of!r}; it maps nodes to bits, such as {{'*/attn/v': 8}}")
    else:
        wrong = {key: bits for key, bits in asked.bits_of.items() if not isinstance(key, str) or bits not in BITS}
        found.extend(
            f"bits_of[{key!r}] is {bits!r}; it must be {' or '.join(map(str, BITS))}" for key, bits in wrong.items()
        )
    whole = isinstance(asked.block, int) and not isinstance(asked.block, bool)
    if not whole or asked.block < LEAST_BLOCK or asked.block & (asked.block - 1):
        found.append(f"block is {asked.block!r}; it must be a power of two from {LEAST_BLOCK} on")
    if asked.scale not in ("max", "mse"):
        found.append(f"scale is {asked.scale!r}; it must be 'max' or 'mse'")
    if asked.format not in (MAT_MUL_NBITS, QDQ):
        found.append(f"format is {asked.format!r}; it must be '{MAT_MUL_NBITS}' or '{QDQ}'")
    if not isinstance(asked.symmetric, bool):
        found.append(f"symmetric is {asked.symmetric!r}; it must be True or False")
    if asked.scale == "mse" and asked.format == MAT_MUL_NBITS:
        found.append(
            f"scale is 'mse', but onnxruntime's tool for {MAT_MUL_NBITS} knows the largest magnitude alone; use "
            f"format '{QDQ}', of which onnxruntime makes the same operators on loading"
        )
    if asked.accuracy_level is not None and (asked.format == QDQ or asked.accuracy_level not in range(5)):
        found.append(f"accuracy_level is {asked.accuracy_level!r}; it is 0 to 4, with format '{MAT_MUL_NBITS}'")
    return found
